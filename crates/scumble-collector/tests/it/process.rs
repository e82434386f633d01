//! The collector as a process of its own: killed under load, stopped politely, searched for what it must not keep.

use crate::support::*;
use scumble::campaign::Periods;
use scumble::certificate::SigningKey;
use scumble::files::read_release;
use scumble_collector::collection::Collection;
use scumble_collector::collector::StartError;
use scumble_collector::export::export;
use scumble_collector::run;
use scumble_collector::store::Store;
use scumble_collector::store::sqlite::SqliteStore;
use scumble_collector::{LevelFilter, token};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The child's part; does nothing when it runs as a test of its own.
#[test]
fn child() {
    let Ok(folder) = std::env::var("SCUMBLE_TEST_CHILD") else { return };
    let folder = Path::new(&folder);
    run::log(LevelFilter::TRACE);
    let collection = Collection::parse(&std::fs::read_to_string(folder.join("campaign.json")).unwrap(), None).unwrap();
    let store = folder.join("store.db");
    let told = |public, admin| println!("listening {public} {admin}");
    run::serve(settings(), store.to_str().unwrap(), vec![collection], run::clock(None).unwrap(), told).unwrap();
}

struct Process {
    child: Child,
    public: SocketAddr,
    admin: SocketAddr,
}

impl Process {
    fn start(folder: &Path) -> Self {
        let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::child", "--nocapture", "--test-threads", "1"])
            .env("SCUMBLE_TEST_CHILD", folder)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line =
            lines.find_map(|line| Some(line.unwrap().split_once("listening ")?.1.to_owned())).expect("it listens");
        std::thread::spawn(move || lines.for_each(drop)); // so that it never writes into a closed pipe
        let (public, admin) = line.split_once(' ').unwrap();
        Self { child, public: public.parse().unwrap(), admin: admin.parse().unwrap() }
    }

    /// SIGTERM; gives whether it ended well.
    fn stop(mut self) -> bool {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap().success()
    }
}

/// A campaign whose first period is the present, and a folder for its collector.
fn prepare() -> (Collection, tempfile::TempDir) {
    let collection = collection_named("now", Periods { first: run::now() - 10, seconds: 50_000, count: 3 });
    let folder = tempfile::tempdir().unwrap(); // on a disk: this is about syncs
    std::fs::write(folder.path().join("campaign.json"), collection.text()).unwrap();
    (collection, folder)
}

/// Rows of the one export, once its period is closed.
fn exported(collection: &Collection, folder: &Path) -> Vec<u32> {
    let mut store = SqliteStore::open(&folder.join("store.db")).unwrap();
    let out = folder.join("export.parquet");
    let key = run::collections(&mut store).unwrap()[0].0;
    export(&mut store, key, collection, run::now() + 100_000, None, None, &out).unwrap();
    let bytes = read_release(&out).unwrap().bytes;
    bytes.chunks(4).map(|row| u32::from_le_bytes(row.try_into().unwrap())).collect()
}

/// kill -9 under load, again and again: 200 times, or as often as `SCUMBLE_KILLS` says.
#[test]
fn nothing_acknowledged_is_lost_to_kill_9() {
    let kills: u32 = std::env::var("SCUMBLE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let (collection, folder) = prepare();
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let (next, acknowledged) = (AtomicU32::new(0), Mutex::new(BTreeSet::new()));
    for kill in 0..kills {
        let mut process = Process::start(folder.path());
        let (public, before) = (process.public, acknowledged.lock().unwrap().len());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let first = next.fetch_add(5, Ordering::Relaxed);
                        let people = first..first + 5;
                        let body: Vec<_> = people.clone().flat_map(|i| report_bytes(&collection, 0, i, i)).collect();
                        // A report that was perhaps taken before the last kill comes again, too.
                        let old = first.saturating_sub(50);
                        let again = report_bytes(&collection, 0, old, old);
                        let body = [body, again].concat();
                        match try_request(public, "POST", &path, "", &body) {
                            Ok(answer) if answer.status == 200 => {
                                assert!(answer.receipt().2.is_empty(), "{answer:?}");
                                acknowledged.lock().unwrap().extend(people);
                            }
                            _ => return,
                        }
                    }
                });
            }
            // Killed in the middle of it: after some more requests every time.
            while acknowledged.lock().unwrap().len() < before + 20 + 7 * kill as usize % 90 {
                assert!(process.child.try_wait().unwrap().is_none(), "it ended by itself");
                std::thread::yield_now();
            }
            process.child.kill().unwrap();
            process.child.wait().unwrap();
        });
    }
    let rows = exported(&collection, folder.path());
    let distinct: BTreeSet<u32> = rows.iter().copied().collect();
    assert_eq!(distinct.len(), rows.len(), "no report twice");
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(
        acknowledged.is_subset(&distinct),
        "{} acknowledged reports are lost",
        acknowledged.difference(&distinct).count()
    );
    assert!(distinct.iter().all(|row| *row < next.load(Ordering::Relaxed)));
    println!("{kills} kills: {} reports acknowledged, {} exported", acknowledged.len(), rows.len());
}

/// Markers in everything that a request can carry, at trace level, and then a search through all that was written.
#[test]
fn nothing_that_identifies_is_kept() {
    let (collection, folder) = prepare();
    let process = Process::start(folder.path());
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let secret = token::generate().unwrap();
    let headers = format!(
        "user-agent: MARKER-agent\r\nx-forwarded-for: 203.0.113.77\r\nforwarded: for=203.0.113.77\r\n\
         x-real-ip: 203.0.113.77\r\ncookie: MARKER-cookie\r\nreferer: http://MARKER-referer\r\nauthorization: Bearer {secret}\r\n"
    );
    let post = |body: &[u8]| request(process.public, "POST", &path, &headers, body);
    let before = std::fs::read(folder.path().join("log")).unwrap().len();
    for person in 0..50 {
        assert_eq!(post(&report_bytes(&collection, 0, person, person)).status, 200);
    }
    // Reports that are not taken: an id that conflicts, a wrong campaign, a wrong period, no report at all.
    let marked = |mut report: Vec<u8>| {
        let end = report.len();
        report[end - 4..].copy_from_slice(b"MRKR");
        report
    };
    assert_eq!(post(&marked(report_bytes(&collection, 0, 1, 0))).status, 200);
    assert_eq!(post(&marked(report_bytes(&collection, 2, 60, 0))).status, 200);
    let mut other = marked(report_bytes(&collection, 0, 61, 0));
    other[16..32].copy_from_slice(b"MARKER-report-id");
    other[4] ^= 1;
    assert_eq!(post(&other).status, 200);
    assert_eq!(post(b"MARKER-garbage").status, 400);
    for line in ["GET /MARKER-path?MARKER=1 HTTP/1.1", "MARKER / HTTP/1.1", "GET / HTTP/9 MARKER"] {
        let _ =
            exchange(process.public, format!("{line}\r\nhost: MARKER-host\r\nconnection: close\r\n\r\n").as_bytes());
    }
    let metrics = request(process.admin, "GET", "/metrics", "", b"").body;
    let log = std::fs::read(folder.path().join("log")).unwrap();
    assert_eq!(log.len(), before, "requests leave no trace: {}", String::from_utf8_lossy(&log[before..]));
    assert!(process.stop(), "SIGTERM ends it with status 0");
    exported(&collection, folder.path());

    let hash: String = token::hash(&secret).iter().map(|byte| format!("{byte:02x}")).collect();
    let needles: [&[u8]; 7] =
        [b"MARKER", b"MRKR", b"203.0.113.77", &[203, 0, 113, 77], secret.as_bytes(), b"127.0.0.1:", hash.as_bytes()];
    let mut searched = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let is_log = path.ends_with("log"); // which says where it listens, and so may have our own address
        let campaign = path.ends_with("campaign.json") || path.to_string_lossy().contains("store.db"); // its address
        for needle in needles {
            let ours = needle == b"127.0.0.1:" && (is_log || campaign);
            let found = bytes.windows(needle.len()).any(|window| window == needle);
            assert!(ours || !found, "{}: {}", path.display(), String::from_utf8_lossy(needle));
        }
        searched += 1;
        // The ids of taken reports are in the store alone.
        let has_id = bytes.windows(16).any(|window| window == id_of(7));
        assert_eq!(has_id, path.ends_with("store.db"), "{}", path.display());
    }
    assert!(searched >= 4, "store, log, export, campaign");
    assert!(!needles.iter().any(|needle| metrics.as_bytes().windows(needle.len()).any(|window| window == *needle)));

    // No column of the store holds a time, or could.
    let db = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    let columns =
        "SELECT lower(group_concat(m.name || '.' || c.name)) FROM sqlite_schema m, pragma_table_info(m.name) c";
    let columns: String = db.query_row(columns, [], |row| row.get(0)).unwrap();
    for word in ["time", "date", "address", "agent", "received", "created", "_at"] {
        assert!(!columns.contains(word), "{word} in {columns}");
    }
}

/// A public file may be large: while it is served, the copy of the campaign's file that was read first is gone.
#[test]
fn a_public_file_is_in_memory_once() {
    let (_folder, path) = folder();
    let collection = collection_of_words();
    let file = collection.file().unwrap().clone();
    let mut served = false;
    let store = path.join("store.db");
    run::serve(settings(), store.to_str().unwrap(), vec![collection], run::clock(None).unwrap(), |public, _| {
        assert!(file.is_unique(), "only this test still has it");
        let page = try_request(public, "GET", "/", "", b"");
        served = page.is_ok_and(|page| page.status == 404);
        // Its signals are watched by now: this ends the service, not the test.
        assert!(Command::new("kill").arg(std::process::id().to_string()).status().unwrap().success());
    })
    .unwrap();
    assert!(served);
}

/// What was served once is in caches and on devices: the same campaign under another signature does not start.
#[test]
fn another_signature_of_a_known_campaign_is_refused() {
    let (collection, folder) = prepare();
    let resigned = collection.campaign().clone().signed(&SigningKey::generate().unwrap());
    let resigned = Collection::parse(&resigned.to_json(), None).unwrap();
    assert_eq!((resigned.name(), resigned.text() == collection.text()), (collection.name(), false));
    let store = folder.path().join("store.db");
    SqliteStore::open(&store).unwrap().add_campaign(&collection.name(), collection.text(), None).unwrap();
    let served = run::serve(settings(), store.to_str().unwrap(), vec![resigned], run::clock(None).unwrap(), |_, _| {
        unreachable!("it must not start")
    });
    assert!(matches!(served, Err(StartError::OtherSignature { campaign }) if campaign == collection.name()));
    assert_eq!(SqliteStore::open(&store).unwrap().campaigns().unwrap()[0].text, collection.text());
}
