//! The store in one SQLite file: write-ahead log, `synchronous=FULL`, one writer.
//!
//! A group of reports is one row per campaign and period, ids and rows laid end to end and sorted by id, so that the
//! order of arrival within a group is not kept. Whether an id was seen before is answered by an `Index`.

use super::index::{Index, Print, Seen};
use super::{
    CampaignKey, Each, Export, Outcome, PeriodCount, Published, Report, SCHEMA_VERSION, Store, StoreError, StoreFault,
    Unfit,
};
use crate::report::ID_BYTES;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `scco`, so that other programs' files are not taken for stores.
const APPLICATION: i64 = 0x7363_636f;

/// How long to wait for an export that runs in another process.
const PATIENCE: Duration = Duration::from_secs(30);

/// Step `i` brings a store from version `i` to `i + 1`. Steps are never changed, only added.
const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [
    "
    CREATE TABLE campaign (
        key INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        text TEXT NOT NULL,
        closed_before INTEGER NOT NULL DEFAULT 0 -- no report of an earlier period is taken any more
    ) STRICT;
    CREATE TABLE block (
        key INTEGER PRIMARY KEY,
        campaign INTEGER NOT NULL REFERENCES campaign,
        period INTEGER NOT NULL,
        width INTEGER NOT NULL, -- bytes per report: id and row
        reports BLOB NOT NULL
    ) STRICT;
    CREATE INDEX block_period ON block (campaign, period);
    CREATE TABLE export (
        number INTEGER PRIMARY KEY,
        campaign INTEGER NOT NULL REFERENCES campaign,
        rows INTEGER NOT NULL,
        sort BLOB NOT NULL, -- key of the order of its rows
        written INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE export_period (
        campaign INTEGER NOT NULL,
        period INTEGER NOT NULL,
        export INTEGER NOT NULL REFERENCES export,
        PRIMARY KEY (campaign, period) -- a period is in one export
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE probe (key INTEGER PRIMARY KEY, turns INTEGER NOT NULL) STRICT;
    INSERT INTO probe VALUES (1, 0);
    ",
    "
    CREATE TABLE token (
        campaign INTEGER NOT NULL REFERENCES campaign,
        hash BLOB NOT NULL, -- SHA-256
        PRIMARY KEY (campaign, hash)
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE export ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
    ",
    "ALTER TABLE campaign ADD COLUMN file BLOB; -- the public file that the text names",
];

/// See the module's documentation.
pub struct SqliteStore {
    db: Connection,
    folder: PathBuf,
    path: PathBuf,
    writer: Option<WriterLock>, // while this store may append
    indexes: HashMap<(CampaignKey, u32), Index>,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // SQLite's own message names tables and columns, never values.
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Unfit::NotSound.into(),
            Some(code) => StoreFault::Sqlite { code }.into(),
            None => StoreFault::SqliteValue.into(),
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full,
            kind => StoreFault::File { kind }.into(),
        }
    }
}

impl SqliteStore {
    /// Opens a store, or makes it, and brings its schema up to date.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_at(path, SCHEMA_VERSION)
    }

    /// The same up to an older schema, as an older version of this program had it.
    #[doc(hidden)]
    pub fn open_at(path: &Path, version: i64) -> Result<Self, StoreError> {
        let mut db = Connection::open(path).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => StoreError::Unfit(Unfit::CannotOpen { path: path.to_owned() }),
            _ => error.into(),
        })?;
        db.busy_timeout(PATIENCE)?;
        db.pragma_update(None, "trusted_schema", false)?;
        db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "full")?; // a commit returns after the log is synced
        db.pragma_update(None, "foreign_keys", true)?;
        db.pragma_update(None, "secure_delete", true)?; // what is deleted is overwritten
        db.pragma_update(None, "cache_size", -8 * 1024)?; // KiB
        migrate(&mut db, version)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new(".")).to_owned();
        Ok(Self { db, folder, path: path.to_owned(), writer: None, indexes: HashMap::new() })
    }

    /// Sets the most pages that the file may have: beyond them its disk is full.
    #[doc(hidden)]
    pub fn limit(&mut self, pages: u32) -> Result<(), StoreError> {
        Ok(self.db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
    }

    /// One collector per file: the index does not see what another process appends.
    fn become_writer(&mut self) -> Result<(), StoreError> {
        if self.writer.is_none() {
            let mut name = self.path.clone().into_os_string();
            name.push("-writer");
            self.writer = Some(WriterLock::take(name.as_ref())?);
        }
        Ok(())
    }

    /// The index of a period, built from its blocks if it is not there.
    fn index(&mut self, campaign: CampaignKey, period: u32) -> Result<&mut Index, StoreError> {
        use std::collections::hash_map::Entry;
        match self.indexes.entry((campaign, period)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut index = Index::new(&self.folder)?;
                read_period(&self.db, campaign, period, &mut |id, row| Ok(index.insert(index.print(id, row))?))?;
                Ok(entry.insert(index))
            }
        }
    }

    fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.db.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    /// Sorts reports into new ones and others. New ones wait, per campaign and period, with their prints.
    fn sort_out<'a>(&mut self, reports: &'a [Report]) -> Result<(Vec<Outcome>, Groups<'a>), StoreError> {
        let mut groups = Groups::new();
        let mut outcomes = Vec::with_capacity(reports.len());
        for report in reports {
            let at = (report.campaign, report.period);
            let index = self.index(report.campaign, report.period)?;
            let print = index.print(&report.id, &report.row);
            let group = groups.entry(at).or_default();
            let outcome = match index.look_up(print, &group.prints)? {
                Seen::Same => Outcome::Duplicate,
                Seen::Other => Outcome::Conflict,
                Seen::No => {
                    group.prints.insert(print.id, print.whole);
                    group.reports.push(report);
                    Outcome::Accepted
                }
            };
            outcomes.push(outcome);
        }
        Ok((outcomes, groups))
    }
}

/// The right to append to a store. It is given back explicitly: a lock ends with the last descriptor of its file,
/// and a process that starts beside us holds ours for a moment.
struct WriterLock(File);

impl WriterLock {
    fn take(path: &Path) -> Result<Self, StoreError> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        let _ = self.0.unlock(); // closing the file would do, if there were no copies
    }
}

/// New reports of one campaign and period.
#[derive(Default)]
struct Group<'a> {
    reports: Vec<&'a Report>,
    prints: HashMap<u64, u64>,
}

type Groups<'a> = BTreeMap<(CampaignKey, u32), Group<'a>>;

/// Shows every report of a period.
fn read_period(db: &Connection, campaign: CampaignKey, period: u32, each: &mut Each<'_>) -> Result<(), StoreError> {
    let damaged = || StoreError::from(Unfit::Block);
    let mut query = db.prepare("SELECT width, reports FROM block WHERE campaign = ?1 AND period = ?2 ORDER BY key")?;
    let mut blocks = query.query(params![campaign, period])?;
    while let Some(block) = blocks.next()? {
        let width: u32 = block.get(0)?;
        let reports = block.get_ref(1)?.as_blob().map_err(|_| damaged())?;
        for report in reports.chunks(width as usize) {
            let (id, row) = report.split_first_chunk::<ID_BYTES>().ok_or_else(damaged)?;
            each(id, row)?;
        }
    }
    Ok(())
}

/// Takes every missing step, in one transaction.
fn migrate(db: &mut Connection, wanted: i64) -> Result<(), StoreError> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if version < 0 || application != APPLICATION && (application, version, tables) != (0, 0, 0) {
        return Err(Unfit::NotAStore.into());
    }
    if version > wanted {
        return Err(StoreError::Newer { found: version });
    }
    for step in &MIGRATIONS[version as usize..wanted as usize] {
        transaction.execute_batch(step)?;
    }
    if version < wanted {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", wanted)?;
    }
    Ok(transaction.commit()?)
}

/// The first period that is still open.
fn closed_before(db: &Connection, campaign: CampaignKey) -> Result<u32, StoreError> {
    let mut query = db.prepare_cached("SELECT closed_before FROM campaign WHERE key = ?1")?;
    let found = query.query_row([campaign], |row| row.get(0)).optional()?;
    found.ok_or_else(|| StoreFault::NoSuchCampaign.into())
}

fn periods(db: &Connection, campaign: CampaignKey) -> Result<Vec<PeriodCount>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT b.period, sum(length(b.reports) / b.width), b.period < c.closed_before, e.export
         FROM block b JOIN campaign c ON c.key = b.campaign
         LEFT JOIN export_period e ON e.campaign = b.campaign AND e.period = b.period
         WHERE b.campaign = ?1 GROUP BY b.period ORDER BY b.period",
    )?;
    let rows = query.query_map([campaign], |row| {
        Ok(PeriodCount {
            period: row.get(0)?,
            reports: row.get::<_, i64>(1)? as u64,
            closed: row.get(2)?,
            export: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Store for SqliteStore {
    fn add_campaign(&mut self, digest: &str, text: &str, file: Option<&[u8]>) -> Result<CampaignKey, StoreError> {
        let transaction = self.begin()?;
        let insert = "INSERT INTO campaign (digest, text, file) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        transaction.execute(insert, params![digest, text, file])?;
        let key = transaction.query_row("SELECT key FROM campaign WHERE digest = ?1", [digest], |row| row.get(0))?;
        transaction.commit()?;
        Ok(key)
    }

    fn campaigns(&mut self) -> Result<Vec<Published>, StoreError> {
        let mut query = self.db.prepare("SELECT key, digest, text, file FROM campaign ORDER BY key")?;
        let rows = query.query_map([], |row| {
            Ok(Published { key: row.get(0)?, digest: row.get(1)?, text: row.get(2)?, file: row.get(3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn prepare(&mut self, campaign: CampaignKey, periods: &[u32]) -> Result<(), StoreError> {
        self.become_writer()?;
        periods.iter().try_for_each(|&period| self.index(campaign, period).map(drop))
    }

    fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
        self.become_writer()?;
        let (mut outcomes, groups) = self.sort_out(reports)?;
        let transaction = self.begin()?; // from here on no other process can close a period
        let mut open = Vec::new();
        for ((campaign, period), Group { mut reports, prints }) in groups {
            if period < closed_before(&transaction, campaign)? || reports.is_empty() {
                continue;
            }
            reports.sort_unstable_by_key(|report| report.id);
            let width = ID_BYTES + reports[0].row.len();
            let mut block = Vec::with_capacity(reports.len() * width);
            for report in reports {
                block.extend_from_slice(&report.id);
                block.extend_from_slice(&report.row);
            }
            transaction
                .prepare_cached("INSERT INTO block (campaign, period, width, reports) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![campaign, period, width as i64, block])?;
            open.push(((campaign, period), prints));
        }
        for (report, outcome) in reports.iter().zip(&mut outcomes) {
            if report.period < closed_before(&transaction, report.campaign)? {
                *outcome = Outcome::Closed;
            }
        }
        transaction.commit()?;
        for (at, prints) in open {
            let index = self.indexes.get_mut(&at).expect("looked up above");
            let done = prints.into_iter().try_for_each(|(id, whole)| index.insert(Print { id, whole }));
            if done.is_err() {
                self.indexes.remove(&at); // built again from the blocks, which are durable
            }
        }
        Ok(outcomes)
    }

    fn close(&mut self, campaign: CampaignKey, before: u32) -> Result<(), StoreError> {
        if closed_before(&self.db, campaign)? < before {
            self.db.execute(
                "UPDATE campaign SET closed_before = max(closed_before, ?2) WHERE key = ?1",
                [i64::from(campaign), i64::from(before)],
            )?;
        }
        self.indexes.retain(|&(of, period), _| of != campaign || period >= before);
        Ok(())
    }

    fn periods(&mut self, campaign: CampaignKey) -> Result<Vec<PeriodCount>, StoreError> {
        periods(&self.db, campaign)
    }

    fn record_export(
        &mut self,
        campaign: CampaignKey,
        least: u64,
        most: usize,
        order: [u8; 32],
    ) -> Result<Option<Export>, StoreError> {
        let transaction = self.begin()?;
        let mut chosen = periods(&transaction, campaign)?;
        chosen.retain(|count| count.closed && count.export.is_none() && count.reports >= least.max(1));
        chosen.truncate(most);
        if chosen.is_empty() {
            return Ok(None);
        }
        let rows = chosen.iter().map(|count| count.reports).sum();
        transaction.execute(
            "INSERT INTO export (campaign, rows, sort) VALUES (?1, ?2, ?3)",
            params![campaign, rows as i64, order],
        )?;
        let number = transaction.last_insert_rowid();
        for count in &chosen {
            transaction
                .execute("INSERT INTO export_period VALUES (?1, ?2, ?3)", params![campaign, count.period, number])?;
        }
        transaction.commit()?;
        let periods = chosen.iter().map(|count| count.period).collect();
        Ok(Some(Export { number, campaign, periods, rows, order, written: false, deleted: false }))
    }

    fn exports(&mut self, campaign: CampaignKey) -> Result<Vec<Export>, StoreError> {
        let mut query = self
            .db
            .prepare("SELECT number, rows, sort, written, deleted FROM export WHERE campaign = ?1 ORDER BY number")?;
        let rows = query.query_map([campaign], |row| {
            Ok(Export {
                number: row.get(0)?,
                campaign,
                periods: Vec::new(),
                rows: row.get::<_, i64>(1)? as u64,
                order: row.get(2)?,
                written: row.get(3)?,
                deleted: row.get(4)?,
            })
        })?;
        let mut exports = rows.collect::<Result<Vec<_>, _>>()?;
        let mut query = self.db.prepare("SELECT period FROM export_period WHERE export = ?1 ORDER BY period")?;
        for export in &mut exports {
            export.periods = query.query_map([export.number], |row| row.get(0))?.collect::<Result<_, _>>()?;
        }
        Ok(exports)
    }

    fn mark_written(&mut self, export: i64) -> Result<(), StoreError> {
        self.db.execute("UPDATE export SET written = 1 WHERE number = ?1 AND written = 0", [export])?;
        Ok(())
    }

    fn read(&mut self, export: &Export, each: &mut Each<'_>) -> Result<(), StoreError> {
        export.periods.iter().try_for_each(|&period| read_period(&self.db, export.campaign, period, each))
    }

    fn delete(&mut self, campaign: CampaignKey, before: u32) -> Result<u64, StoreError> {
        let transaction = self.begin()?;
        let before = before.min(closed_before(&transaction, campaign)?);
        let gone = periods(&transaction, campaign)?;
        let gone: u64 = gone.iter().filter(|count| count.period < before).map(|count| count.reports).sum();
        if gone > 0 {
            transaction.execute("DELETE FROM block WHERE campaign = ?1 AND period < ?2", params![campaign, before])?;
            transaction.execute(
                "UPDATE export SET deleted = 1 WHERE number IN
                 (SELECT export FROM export_period WHERE campaign = ?1 AND period < ?2)",
                params![campaign, before],
            )?;
        }
        transaction.commit()?;
        if gone > 0 {
            // The log still has the pages as they were: empty it.
            self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(gone)
    }

    fn tokens(&mut self, campaign: CampaignKey) -> Result<Vec<[u8; 32]>, StoreError> {
        let mut query = self.db.prepare("SELECT hash FROM token WHERE campaign = ?1 ORDER BY hash")?;
        let rows = query.query_map([campaign], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn add_token(&mut self, campaign: CampaignKey, hash: [u8; 32]) -> Result<(), StoreError> {
        self.db.execute("INSERT INTO token VALUES (?1, ?2) ON CONFLICT DO NOTHING", params![campaign, hash])?;
        Ok(())
    }

    fn remove_tokens(&mut self, campaign: CampaignKey) -> Result<u64, StoreError> {
        Ok(self.db.execute("DELETE FROM token WHERE campaign = ?1", [campaign])? as u64)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.db.execute("UPDATE probe SET turns = turns + 1", [])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("writer");
        let lock = WriterLock::take(&path).unwrap();
        assert!(matches!(WriterLock::take(&path), Err(StoreError::InUse)));
        let copy = lock.0.try_clone().unwrap(); // as a process that is being started has it
        drop(lock);
        WriterLock::take(&path).unwrap();
        drop(copy);
    }
}
