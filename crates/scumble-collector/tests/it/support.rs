//! A small campaign, reports for it, stores of both kinds, a client.

use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::mechanism::{Mechanism, MechanismId, Parameters};
use scumble::projection::Seed;
use scumble::release::{Encoder, Report, SigningKey};
use scumble::vectors::Range;
use scumble_collector::collection::Collection;
use scumble_collector::store::postgres::PostgresStore;
use scumble_collector::store::sqlite::SqliteStore;
use scumble_collector::store::{self, CampaignKey, Store, StoreError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// When period 0 begins.
pub const START: u64 = 1_800_000_000;
/// Seconds per period.
pub const PERIOD: u64 = 100;
/// Reports that an export needs per period.
pub const LEAST: u32 = 3;

/// Four bytes per row, periods of 100 seconds.
pub fn collection_named(name: &str, periods: Periods) -> Collection {
    let range = Range { lo: -1.0, hi: 1.0 };
    let parameters = Parameters::new(MechanismId::DpSignoporpCeil, 64, 32, 2.0, 1.0, range, Seed([3; 32]));
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    let terms = Terms {
        name: name.into(),
        statement: "We count which topics people read.".into(),
        collector: "http://127.0.0.1:8080".into(),
        input: Input { layout: Layout::Dense, description: "topic scores".into(), model: None },
        periods,
        longitudinal: Longitudinal { mode: Mode::Once, contents: 3 },
        min_reports: LEAST,
        retention_days: 1,
    };
    let campaign = Campaign::new(&mechanism, &encoder, terms).unwrap();
    Collection::parse(&campaign.signed(&SigningKey::generate().unwrap()).to_json()).unwrap()
}

pub fn collection() -> Collection {
    collection_named("test", Periods { first: START, seconds: PERIOD, count: 20 })
}

/// The bytes of a report; `person` gives the id.
pub fn report_bytes(collection: &Collection, period: u32, person: u32, row: u32) -> Vec<u8> {
    let campaign = *collection.digest().first_chunk().unwrap();
    Report { campaign, period, id: id_of(person), row: &row.to_le_bytes() }.to_bytes()
}

pub fn id_of(person: u32) -> [u8; 16] {
    let mut id = [7; 16];
    id[..4].copy_from_slice(&person.wrapping_mul(0x9e37_79b1).to_le_bytes());
    id
}

pub fn report(campaign: CampaignKey, period: u32, person: u32, row: u32) -> store::Report {
    store::Report { campaign, period, id: id_of(person), row: row.to_le_bytes().to_vec().into() }
}

/// A place for a store, which outlives the stores that are opened there.
pub enum Place {
    /// A file in a folder that is deleted at the end.
    Sqlite(TempDir),
    /// A database that is deleted at the end.
    Postgres { url: String, name: String },
}

/// PostgreSQL, if `./test` or the person before the screen has started one; says so once if not.
pub fn server() -> Option<String> {
    let server = std::env::var("SCUMBLE_TEST_POSTGRES").ok();
    if server.is_none() {
        eprintln!("!! PostgreSQL is not here (tests/postgres starts one): its tests are LEFT OUT");
    }
    server
}

/// Databases are made and dropped one at a time.
fn administer(server: &str, command: &str) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one: MutexGuard<'_, ()> = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(command).await.unwrap();
    });
}

impl Place {
    /// Every kind of place that there is.
    pub fn all() -> Vec<Self> {
        [Some(Self::sqlite()), Self::postgres()].into_iter().flatten().collect()
    }

    pub fn sqlite() -> Self {
        let memory = std::path::Path::new("/dev/shm"); // a sync costs nothing there
        Self::Sqlite(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap())
    }

    pub fn postgres() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = server()?;
        let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        administer(&server, &format!("CREATE DATABASE {name}"));
        Some(Self::Postgres { url: server, name })
    }

    /// The store's address.
    pub fn location(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().join("store.db").to_str().unwrap().to_owned(),
            Self::Postgres { url, name } => format!("{url}&dbname={name}"),
        }
    }

    pub fn open(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Sqlite(_) => Box::new(SqliteStore::open(self.location().as_ref())?),
            Self::Postgres { .. } => Box::new(PostgresStore::open(&self.location(), 2)?),
        })
    }

    pub fn open_at(&self, version: i64) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Sqlite(_) => Box::new(SqliteStore::open_at(self.location().as_ref(), version)?),
            Self::Postgres { .. } => Box::new(PostgresStore::open_at(&self.location(), 2, version)?),
        })
    }

    /// A SQLite store that can grow no further.
    pub fn open_limited(&self, pages: u32) -> Result<Box<dyn Store>, StoreError> {
        let mut store = SqliteStore::open(self.location().as_ref())?;
        store.limit(pages)?;
        Ok(Box::new(store))
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres { .. })
    }

    /// Changes the store behind its back.
    pub fn tamper(&self, sqlite: &str, postgres: &str) {
        match self {
            Self::Sqlite(_) => rusqlite::Connection::open(self.location()).unwrap().execute_batch(sqlite).unwrap(),
            Self::Postgres { .. } => administer(&self.location(), postgres),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Postgres { url, name } = self {
            administer(url, &format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

/// A folder for exports.
pub fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}
