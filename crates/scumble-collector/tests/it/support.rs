//! A small campaign, reports for it, stores of both kinds, a client.

use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::certificate::SigningKey;
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Origin, PublicTable, Seed, TableFile};
use scumble::release::{Encoder, Report};
use scumble::vectors::Range;
use scumble_collector::collection::Collection;
use scumble_collector::collector::{Collector, Settings};
use scumble_collector::service::Clock;
use scumble_collector::store::postgres::PostgresStore;
use scumble_collector::store::sqlite::SqliteStore;
use scumble_collector::store::{self, CampaignKey, Store, StoreError};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// When period 0 begins.
pub const START: u64 = 1_800_000_000;
/// Seconds per period.
pub const PERIOD: u64 = 100;
/// Reports that an export needs per period.
pub const LEAST: u32 = 3;

/// Four bytes per row, periods of 100 seconds.
pub fn collection_named(name: &str, periods: Periods) -> Collection {
    collection_of(MechanismId::DpSignoporpCeil, name, periods)
}

/// The same with any mechanism of one bit per bin.
pub fn collection_of(id: MechanismId, name: &str, periods: Periods) -> Collection {
    collection_with(parameters(id), Mode::Once, name, periods)
}

fn parameters(id: MechanismId) -> Parameters {
    let range = Range { lo: -1.0, hi: 1.0 };
    Parameters::new(Required { mechanism: id, dim: 64, k: 32, epsilon: 2.0, beta: 1.0, range, seed: Seed([3; 32]) })
}

fn collection_with(parameters: Parameters, mode: Mode, name: &str, periods: Periods) -> Collection {
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    let terms = Terms {
        name: name.into(),
        statement: "We count which topics people read.".into(),
        collector: "http://127.0.0.1:8080".into(),
        input: Input { layout: Layout::Dense, description: "topic scores".into(), model: None },
        periods,
        longitudinal: Longitudinal { mode, contents: 3 },
        min_reports: LEAST,
        retention_days: 1,
    };
    let campaign = Campaign::new(&mechanism, &encoder, terms).unwrap();
    let signed = campaign.signed(&SigningKey::generate().unwrap());
    Collection::parse(&signed.to_json(), signed.file().as_ref().map(|(_, content)| &content[..])).unwrap()
}

/// Words of a public book that stays beside the campaign.
pub fn collection_of_words() -> Collection {
    let entries = (0..50 * 64).map(|i| ((i * 7919) % 2003) as i16 - 1001).collect();
    let book = TableFile::of(PublicTable::book(50, entries, 0.001, Origin::Made).unwrap());
    let periods = Periods { first: START, seconds: PERIOD, count: 20 };
    collection_with(Parameters { book: Some(book), ..parameters(MechanismId::Privbook) }, Mode::Once, "words", periods)
}

/// Devices send the same report in every period.
pub fn collection_sticky() -> Collection {
    let periods = Periods { first: START, seconds: PERIOD, count: 20 };
    collection_with(parameters(MechanismId::DpSignoporpRr), Mode::Sticky, "sticky", periods)
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

/// A folder in memory where there is one: a sync costs nothing there.
fn scratch() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

impl Place {
    /// Every kind of place that there is.
    pub fn all() -> Vec<Self> {
        [Some(Self::sqlite()), Self::postgres()].into_iter().flatten().collect()
    }

    pub fn sqlite() -> Self {
        Self::Sqlite(scratch())
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

    /// A store of the first schema, which has this campaign under key 1.
    pub fn open_old(&self, collection: &Collection) -> Box<dyn Store> {
        let store = self.open_at(1).unwrap();
        let values =
            format!("(digest, text) VALUES ('{}', '{}')", collection.name(), collection.text().replace('\'', "''"));
        self.tamper(&format!("INSERT INTO campaign {values}"), &format!("INSERT INTO scumble.campaign {values}"));
        store
    }

    /// A SQLite store that can grow no further.
    pub fn open_limited(&self, pages: u32) -> Result<Box<dyn Store>, StoreError> {
        let mut store = SqliteStore::open(self.location().as_ref())?;
        store.limit(pages)?;
        Ok(Box::new(store))
    }

    /// Kills the collector: what it had in memory is gone, the files stay as they are at this moment.
    pub fn kill(&mut self, store: Option<Box<dyn Store>>) {
        let Self::Sqlite(folder) = self else { return }; // the server lives on, its client is dropped
        let copy = scratch();
        for name in ["store.db", "store.db-wal"] {
            let _ = std::fs::copy(folder.path().join(name), copy.path().join(name)); // there may be no log
        }
        drop(store);
        *self = Self::Sqlite(copy);
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

/// A collector in this process, with a clock that the test sets.
pub struct Running {
    runtime: Option<tokio::runtime::Runtime>,
    collector: Option<Collector>,
    pub public: SocketAddr,
    pub admin: SocketAddr,
    pub clock: Arc<AtomicU64>,
}

/// Settings for tests: any free port, no limits on one address, and no deadline that a slow machine could meet.
pub fn settings() -> Settings {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut settings = Settings { listen: any, admin: any, ..Settings::default() };
    settings.housekeeping = Duration::from_millis(20);
    settings.service.per_address = 0;
    settings.server.most_per_address = 0;
    let long = Duration::from_secs(600);
    settings.service.body_timeout = long;
    (settings.server.header_timeout, settings.server.connection_age, settings.server.drain) = (long, long, long);
    settings
}

impl Running {
    pub fn start(settings: Settings, store: Box<dyn Store>, collection: &Collection) -> Self {
        let clock = Arc::new(AtomicU64::new(START));
        let now = clock.clone();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let tell: Clock = Arc::new(move || now.load(Ordering::SeqCst));
        let started = Collector::start(settings, vec![store], vec![collection.clone()], tell);
        let collector = runtime.block_on(started).unwrap();
        let (public, admin) = (collector.public, collector.admin);
        Self { runtime: Some(runtime), collector: Some(collector), public, admin, clock }
    }

    pub fn post(&self, collection: &Collection, body: &[u8]) -> Response {
        request(self.public, "POST", &format!("/v1/campaigns/{}/reports", collection.name()), "", body)
    }

    /// The same where deadlines are short: a busy machine may let an honest client miss one, a hundred in a row never.
    pub fn post_patiently(&self, collection: &Collection, body: &[u8]) -> Response {
        let path = format!("/v1/campaigns/{}/reports", collection.name());
        let mut answers = (0..100).filter_map(|_| try_request(self.public, "POST", &path, "", body).ok());
        answers.find(|answer| answer.status != 408).expect("an honest client is served")
    }

    /// Stops as SIGTERM does.
    pub fn stop(mut self) {
        let (runtime, collector) = (self.runtime.take().unwrap(), self.collector.take().unwrap());
        runtime.block_on(collector.stop());
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    /// Accepted, duplicate, and reasons of those rejected.
    pub fn receipt(&self) -> (u64, u64, Vec<(u64, String)>) {
        assert_eq!(self.status, 200, "{self:?}");
        let receipt: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        let rejected = receipt["rejected"].as_array().unwrap().iter();
        let rejected = rejected.map(|one| (one["report"].as_u64().unwrap(), one["reason"].as_str().unwrap().into()));
        (receipt["accepted"].as_u64().unwrap(), receipt["duplicate"].as_u64().unwrap(), rejected.collect())
    }
}

/// One request on a connection of its own; `headers` are lines that end with CRLF.
pub fn request(address: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
    try_request(address, method, path, headers, body).unwrap()
}

pub fn try_request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<Response> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    exchange(address, &[head.as_bytes(), body].concat())
}

/// Sends bytes and reads what comes until the end.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Response> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(600)))?; // against a hang
    let _ = stream.write_all(bytes); // a server may refuse before it has read everything
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return Err(read.err().unwrap_or_else(|| std::io::ErrorKind::UnexpectedEof.into()));
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Response { status, head: head.to_lowercase(), body: body.to_owned() })
}

/// The methods of a store that the store inside does as it is, for a test that changes the others.
macro_rules! delegate {
    ($($method:ident),*) => { $(crate::support::delegated!($method);)* };
}
pub(crate) use delegate;

macro_rules! delegated {
    (add_campaign) => {
        fn add_campaign(&mut self, digest: &str, text: &str, file: Option<&[u8]>) -> Result<i32, StoreError> {
            self.store.add_campaign(digest, text, file)
        }
    };
    (append) => {
        fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
            self.store.append(reports)
        }
    };
    (close) => {
        fn close(&mut self, campaign: i32, before: u32) -> Result<(), StoreError> {
            self.store.close(campaign, before)
        }
    };
    (record_export) => {
        fn record_export(
            &mut self,
            of: i32,
            least: u64,
            most: usize,
            order: [u8; 32],
        ) -> Result<Option<Export>, StoreError> {
            self.store.record_export(of, least, most, order)
        }
    };
    (probe) => {
        fn probe(&mut self) -> Result<(), StoreError> {
            self.store.probe()
        }
    };
    (rest) => {
        fn campaigns(&mut self) -> Result<Vec<scumble_collector::store::Published>, StoreError> {
            self.store.campaigns()
        }
        fn prepare(&mut self, campaign: i32, periods: &[u32]) -> Result<(), StoreError> {
            self.store.prepare(campaign, periods)
        }
        fn periods(&mut self, campaign: i32) -> Result<Vec<PeriodCount>, StoreError> {
            self.store.periods(campaign)
        }
        fn exports(&mut self, campaign: i32) -> Result<Vec<Export>, StoreError> {
            self.store.exports(campaign)
        }
        fn mark_written(&mut self, export: i64) -> Result<(), StoreError> {
            self.store.mark_written(export)
        }
        fn read(&mut self, export: &Export, each: &mut Each<'_>) -> Result<(), StoreError> {
            self.store.read(export, each)
        }
        fn delete(&mut self, campaign: i32, before: u32) -> Result<u64, StoreError> {
            self.store.delete(campaign, before)
        }
        fn tokens(&mut self, campaign: i32) -> Result<Vec<[u8; 32]>, StoreError> {
            self.store.tokens(campaign)
        }
        fn add_token(&mut self, campaign: i32, hash: [u8; 32]) -> Result<(), StoreError> {
            self.store.add_token(campaign, hash)
        }
        fn remove_tokens(&mut self, campaign: i32) -> Result<u64, StoreError> {
            self.store.remove_tokens(campaign)
        }
    };
}
pub(crate) use delegated;
