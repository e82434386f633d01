//! The store in PostgreSQL, for more than one collector. The tables are in a schema of their own, `scumble`.
//!
//! Taking reports holds a shared lock on their campaign for the length of a transaction, closing periods an exclusive
//! one: after a period is closed no transaction that has not seen it can still commit.

use super::{
    CampaignKey, Each, Export, Outcome, PeriodCount, Published, Report, SCHEMA_VERSION, Store, StoreError, StoreFault,
    Unfit,
};
use crate::report::{ID_BYTES, Id};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls, Transaction};

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows that are fetched at a time.
const FETCH: usize = 10_000;
/// The class of our advisory locks: `scco`.
const LOCKS: i32 = 0x7363_636f;

/// Step `i` brings a store from version `i` to `i + 1`. Steps are never changed, only added.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [
    "
    CREATE TABLE scumble.campaign (
        key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest text NOT NULL UNIQUE,
        text text NOT NULL,
        closed_before bigint NOT NULL DEFAULT 0 -- no report of an earlier period is taken any more
    );
    CREATE TABLE scumble.report (
        campaign integer NOT NULL REFERENCES scumble.campaign,
        period bigint NOT NULL,
        id bytea NOT NULL,
        sketch bytea NOT NULL,
        PRIMARY KEY (campaign, period, id)
    );
    CREATE TABLE scumble.export (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        campaign integer NOT NULL REFERENCES scumble.campaign,
        reports bigint NOT NULL,
        sort bytea NOT NULL, -- key of the order of its rows
        written boolean NOT NULL DEFAULT false
    );
    CREATE TABLE scumble.export_period (
        campaign integer NOT NULL,
        period bigint NOT NULL,
        export bigint NOT NULL REFERENCES scumble.export,
        PRIMARY KEY (campaign, period) -- a period is in one export
    );
    CREATE TABLE scumble.probe (turns bigint NOT NULL);
    INSERT INTO scumble.probe VALUES (0);
    ",
    "
    CREATE TABLE scumble.token (
        campaign integer NOT NULL REFERENCES scumble.campaign,
        hash bytea NOT NULL, -- SHA-256
        PRIMARY KEY (campaign, hash)
    );
    ALTER TABLE scumble.export ADD COLUMN deleted boolean NOT NULL DEFAULT false;
    ",
    "ALTER TABLE scumble.campaign ADD COLUMN file bytea; -- the public file that the text names
    ",
];

const PERIODS: &str = "
    SELECT r.period, count(*), r.period < c.closed_before, e.export
    FROM scumble.report r JOIN scumble.campaign c ON c.key = r.campaign
    LEFT JOIN scumble.export_period e ON e.campaign = r.campaign AND e.period = r.period
    WHERE r.campaign = $1 GROUP BY r.period, c.closed_before, e.export ORDER BY r.period";

/// The thread that talks to the server.
struct Driver(Option<Runtime>);

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background(); // also where blocking is not allowed
        }
    }
}

/// See the module's documentation. Clones share the pool.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Pool,
    driver: Arc<Driver>,
}

/// Only the class of an error is reported: its text may quote values.
impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&SqlState::DISK_FULL) => Self::Full,
            Some(code) => StoreFault::Postgres { code: code.code().to_owned() }.into(),
            None => StoreFault::NoConnection.into(),
        }
    }
}

impl From<PoolError> for StoreError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            _ => StoreFault::NoConnection.into(),
        }
    }
}

type Connected<'a> = Transaction<'a>;

impl PostgresStore {
    /// Connects, with at most `connections` at a time, and brings the schema up to date.
    pub fn open(url: &str, connections: usize) -> Result<Self, StoreError> {
        Self::open_at(url, connections, SCHEMA_VERSION)
    }

    /// The same up to an older schema, as an older version of this program had it.
    #[doc(hidden)]
    pub fn open_at(url: &str, connections: usize, version: i64) -> Result<Self, StoreError> {
        // The address may hold a password: it is never quoted.
        let mut config: Config = url.parse().map_err(|_| Unfit::Address)?;
        config.connect_timeout(PATIENCE).application_name("scumble collect");
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager)
            .max_size(connections)
            .wait_timeout(Some(PATIENCE))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .build()
            .map_err(|_| StoreFault::NoPool)?;
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("postgres").enable_all().build()?;
        let store = Self { pool, driver: Arc::new(Driver(Some(runtime))) };
        store.with(async |connection| migrate(connection, version).await)?;
        Ok(store)
    }

    /// Does something in one transaction and commits it.
    fn with<T>(&self, work: impl AsyncFnOnce(&Connected<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let runtime = self.driver.0.as_ref().expect("taken when it ends");
        runtime.block_on(async {
            let mut connection: Object = self.pool.get().await?;
            let transaction = connection.transaction().await?;
            let done = work(&transaction).await?;
            transaction.commit().await?;
            Ok(done)
        })
    }
}

/// Refuses a server that acknowledges before it writes, then takes every missing step.
async fn migrate(connection: &Connected<'_>, wanted: i64) -> Result<(), StoreError> {
    for setting in ["fsync", "full_page_writes"] {
        let row = connection.query_one("SELECT current_setting($1)", &[&setting]).await?;
        if row.get::<_, String>(0) != "on" {
            return Err(Unfit::LosesData { setting }.into());
        }
    }
    connection.execute("SELECT pg_advisory_xact_lock($1, 0)", &[&LOCKS]).await?; // one collector at a time
    connection
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS scumble;
             CREATE TABLE IF NOT EXISTS scumble.version (version bigint NOT NULL);
             INSERT INTO scumble.version SELECT 0 WHERE NOT EXISTS (SELECT FROM scumble.version);",
        )
        .await?;
    let version: i64 = connection.query_one("SELECT version FROM scumble.version", &[]).await?.get(0);
    if version > wanted {
        return Err(StoreError::Newer { found: version });
    }
    for step in &MIGRATIONS[version as usize..wanted as usize] {
        connection.batch_execute(step).await?;
    }
    connection.execute("UPDATE scumble.version SET version = $1 WHERE version < $1", &[&wanted]).await?;
    Ok(())
}

async fn count_periods(connection: &Connected<'_>, campaign: CampaignKey) -> Result<Vec<PeriodCount>, StoreError> {
    let rows = connection.query(PERIODS, &[&campaign]).await?;
    let count = |row: &tokio_postgres::Row| PeriodCount {
        period: row.get::<_, i64>(0) as u32,
        reports: row.get::<_, i64>(1) as u64,
        closed: row.get(2),
        export: row.get(3),
    };
    Ok(rows.iter().map(count).collect())
}

/// Which reports of a group are kept under which bytes: campaign, period and id to row.
type Known<'a> = HashMap<(CampaignKey, u32, Id), (&'a [u8], bool)>;

/// Waits until no period is being closed, and gives the first open period of each campaign.
async fn open_from(connection: &Connected<'_>, reports: &[Report]) -> Result<HashMap<CampaignKey, u32>, StoreError> {
    let mut campaigns: Vec<_> = reports.iter().map(|report| report.campaign).collect();
    campaigns.sort_unstable();
    campaigns.dedup();
    let mut open = HashMap::new();
    for campaign in campaigns {
        connection.execute("SELECT pg_advisory_xact_lock_shared($1, $2)", &[&LOCKS, &campaign]).await?;
        let row = connection
            .query_opt("SELECT closed_before FROM scumble.campaign WHERE key = $1", &[&campaign])
            .await?
            .ok_or(StoreFault::NoSuchCampaign)?;
        open.insert(campaign, row.get::<_, i64>(0) as u32);
    }
    Ok(open)
}

const INSERT: &str = "
    INSERT INTO scumble.report SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bytea[], $4::bytea[])
    ON CONFLICT DO NOTHING RETURNING campaign, period, id";
const SELECT: &str = "
    SELECT r.campaign, r.period, r.id, r.sketch FROM scumble.report r
    JOIN unnest($1::integer[], $2::bigint[], $3::bytea[]) AS k (campaign, period, id) USING (campaign, period, id)";

/// Keeps what is new and compares the rest.
async fn append(connection: &Connected<'_>, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
    let open = open_from(connection, reports).await?;
    let mut known = Known::new(); // the first of each id, and whether it is new
    for report in reports.iter().filter(|report| report.period >= open[&report.campaign]) {
        known.entry((report.campaign, report.period, report.id)).or_insert((&report.row, false));
    }
    let mut keys: Vec<_> = known.keys().copied().collect();
    keys.sort_unstable(); // two collectors that insert the same ids wait for each other in one order
    let columns = |keys: &[(CampaignKey, u32, Id)]| {
        let campaigns: Vec<_> = keys.iter().map(|key| key.0).collect();
        let periods: Vec<_> = keys.iter().map(|key| i64::from(key.1)).collect();
        (campaigns, periods, keys.iter().map(|key| key.2.to_vec()).collect::<Vec<_>>())
    };
    let (campaigns, periods, ids) = columns(&keys);
    let rows: Vec<_> = keys.iter().map(|key| known[key].0).collect();
    for row in connection.query(INSERT, &[&campaigns, &periods, &ids, &rows]).await? {
        known.get_mut(&key_of(&row)?).expect("asked for").1 = true;
    }
    keys.retain(|key| !known[key].1);
    let (campaigns, periods, ids) = columns(&keys);
    let before = connection.query(SELECT, &[&campaigns, &periods, &ids]).await?;
    for row in &before {
        known.insert(key_of(row)?, (row.get(3), false));
    }
    Ok(reports
        .iter()
        .map(|report| {
            if report.period < open[&report.campaign] {
                return Outcome::Closed;
            }
            let (row, new) = known.get_mut(&(report.campaign, report.period, report.id)).expect("entered above");
            match (std::mem::take(new), *row == &report.row[..]) {
                (true, _) => Outcome::Accepted,
                (false, true) => Outcome::Duplicate,
                (false, false) => Outcome::Conflict,
            }
        })
        .collect())
}

fn key_of(row: &tokio_postgres::Row) -> Result<(CampaignKey, u32, Id), StoreError> {
    Ok((row.get(0), row.get::<_, i64>(1) as u32, id_of(row.get(2))?))
}

fn id_of(bytes: &[u8]) -> Result<Id, StoreError> {
    bytes.try_into().map_err(|_| Unfit::Id { bytes: ID_BYTES }.into())
}

impl Store for PostgresStore {
    fn add_campaign(&mut self, digest: &str, text: &str, file: Option<&[u8]>) -> Result<CampaignKey, StoreError> {
        self.with(async |connection| {
            let insert = "INSERT INTO scumble.campaign (digest, text, file) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            connection.execute(insert, &[&digest, &text, &file]).await?;
            let key = "SELECT key FROM scumble.campaign WHERE digest = $1";
            Ok(connection.query_one(key, &[&digest]).await?.get(0))
        })
    }

    fn campaigns(&mut self) -> Result<Vec<Published>, StoreError> {
        self.with(async |connection| {
            let rows =
                connection.query("SELECT key, digest, text, file FROM scumble.campaign ORDER BY key", &[]).await?;
            let rows = rows.iter().map(|row| Published {
                key: row.get(0),
                digest: row.get(1),
                text: row.get(2),
                file: row.get(3),
            });
            Ok(rows.collect())
        })
    }

    fn prepare(&mut self, _: CampaignKey, _: &[u32]) -> Result<(), StoreError> {
        Ok(())
    }

    fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
        self.with(async |connection| {
            connection.batch_execute("SET LOCAL synchronous_commit = on").await?;
            append(connection, reports).await
        })
    }

    fn close(&mut self, campaign: CampaignKey, before: u32) -> Result<(), StoreError> {
        let before = i64::from(before);
        let stale: bool = self.with(async |connection| {
            let query = "SELECT closed_before < $2 FROM scumble.campaign WHERE key = $1";
            Ok(connection.query_one(query, &[&campaign, &before]).await?.get(0))
        })?;
        if !stale {
            return Ok(()); // and nobody was held up
        }
        self.with(async |connection| {
            connection.execute("SELECT pg_advisory_xact_lock($1, $2)", &[&LOCKS, &campaign]).await?;
            let update = "UPDATE scumble.campaign SET closed_before = greatest(closed_before, $2) WHERE key = $1";
            connection.execute(update, &[&campaign, &before]).await?;
            Ok(())
        })
    }

    fn periods(&mut self, campaign: CampaignKey) -> Result<Vec<PeriodCount>, StoreError> {
        self.with(async |connection| count_periods(connection, campaign).await)
    }

    fn record_export(
        &mut self,
        campaign: CampaignKey,
        least: u64,
        most: usize,
        order: [u8; 32],
    ) -> Result<Option<Export>, StoreError> {
        self.with(async |connection| {
            connection.execute("SELECT pg_advisory_xact_lock($1, $2)", &[&LOCKS, &campaign]).await?;
            let mut chosen = count_periods(connection, campaign).await?;
            chosen.retain(|count| count.closed && count.export.is_none() && count.reports >= least.max(1));
            chosen.truncate(most);
            if chosen.is_empty() {
                return Ok(None);
            }
            let rows: u64 = chosen.iter().map(|count| count.reports).sum();
            let insert = "INSERT INTO scumble.export (campaign, reports, sort) VALUES ($1, $2, $3) RETURNING number";
            let number: i64 =
                connection.query_one(insert, &[&campaign, &(rows as i64), &order.as_slice()]).await?.get(0);
            for count in &chosen {
                let insert = "INSERT INTO scumble.export_period VALUES ($1, $2, $3)";
                connection.execute(insert, &[&campaign, &i64::from(count.period), &number]).await?;
            }
            let periods = chosen.iter().map(|count| count.period).collect();
            Ok(Some(Export { number, campaign, periods, rows, order, written: false, deleted: false }))
        })
    }

    fn exports(&mut self, campaign: CampaignKey) -> Result<Vec<Export>, StoreError> {
        self.with(async |connection| {
            let query = "
                SELECT e.number, e.reports, e.sort, e.written, e.deleted, array_agg(p.period ORDER BY p.period)
                FROM scumble.export e JOIN scumble.export_period p ON p.export = e.number
                WHERE e.campaign = $1 GROUP BY e.number ORDER BY e.number";
            let rows = connection.query(query, &[&campaign]).await?;
            rows.iter()
                .map(|row| {
                    let order = row.get::<_, &[u8]>(2).try_into();
                    let damaged = |_| StoreError::from(Unfit::Export);
                    Ok(Export {
                        number: row.get(0),
                        campaign,
                        periods: row.get::<_, Vec<i64>>(5).into_iter().map(|period| period as u32).collect(),
                        rows: row.get::<_, i64>(1) as u64,
                        order: order.map_err(damaged)?,
                        written: row.get(3),
                        deleted: row.get(4),
                    })
                })
                .collect()
        })
    }

    fn mark_written(&mut self, export: i64) -> Result<(), StoreError> {
        self.with(async |connection| {
            connection.execute("UPDATE scumble.export SET written = true WHERE number = $1", &[&export]).await?;
            Ok(())
        })
    }

    fn read(&mut self, export: &Export, each: &mut Each<'_>) -> Result<(), StoreError> {
        // The periods are closed: pages of one statement after another show one state.
        for &period in &export.periods {
            let mut after: Vec<u8> = Vec::new();
            loop {
                let rows = self.with(async |connection| {
                    let query = "SELECT id, sketch FROM scumble.report WHERE campaign = $1 AND period = $2 AND id > $3
                                 ORDER BY id LIMIT $4";
                    let (period, fetch) = (i64::from(period), FETCH as i64);
                    Ok(connection.query(query, &[&export.campaign, &period, &after, &fetch]).await?)
                })?;
                for row in &rows {
                    each(&id_of(row.get(0))?, row.get(1))?;
                }
                match rows.last() {
                    Some(last) if rows.len() == FETCH => after = last.get::<_, Vec<u8>>(0),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    fn delete(&mut self, campaign: CampaignKey, before: u32) -> Result<u64, StoreError> {
        self.with(async |connection| {
            let delete = "
                DELETE FROM scumble.report r USING scumble.campaign c
                WHERE c.key = $1 AND r.campaign = $1 AND r.period < least($2, c.closed_before)";
            let deleted = connection.execute(delete, &[&campaign, &i64::from(before)]).await?;
            let mark = "
                UPDATE scumble.export SET deleted = true WHERE NOT deleted AND number IN
                (SELECT p.export FROM scumble.export_period p JOIN scumble.campaign c ON c.key = p.campaign
                 WHERE p.campaign = $1 AND p.period < least($2, c.closed_before))";
            connection.execute(mark, &[&campaign, &i64::from(before)]).await?;
            Ok(deleted)
        })
    }

    fn tokens(&mut self, campaign: CampaignKey) -> Result<Vec<[u8; 32]>, StoreError> {
        self.with(async |connection| {
            let query = "SELECT hash FROM scumble.token WHERE campaign = $1 ORDER BY hash";
            let rows = connection.query(query, &[&campaign]).await?;
            let damaged = |_| StoreError::from(Unfit::Token);
            rows.iter().map(|row| row.get::<_, &[u8]>(0).try_into().map_err(damaged)).collect()
        })
    }

    fn add_token(&mut self, campaign: CampaignKey, hash: [u8; 32]) -> Result<(), StoreError> {
        self.with(async |connection| {
            let insert = "INSERT INTO scumble.token VALUES ($1, $2) ON CONFLICT DO NOTHING";
            connection.execute(insert, &[&campaign, &hash.as_slice()]).await?;
            Ok(())
        })
    }

    fn remove_tokens(&mut self, campaign: CampaignKey) -> Result<u64, StoreError> {
        self.with(async |connection| {
            Ok(connection.execute("DELETE FROM scumble.token WHERE campaign = $1", &[&campaign]).await?)
        })
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.with(async |connection| {
            connection.execute("UPDATE scumble.probe SET turns = turns + 1", &[]).await?;
            Ok(())
        })
    }
}
