//! Load on loopback: `cargo bench -p scumble-collector --bench load -- [--seconds S] [--reports N] [--store STORE]`.
//!
//! The generator and the collector share the machine. Every figure is a ratio within one run, or names its unit:
//! 1. single reports, durable, against a bare axum handler that reads the body and stores nothing;
//! 2. batches of 100;
//! 3. the time of an answer at 80% of that load;
//! 4. ten times as many senders, and the same load afterwards;
//! 5. memory of the collector up to N reports (10 million unless told).

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use scumble::campaign::{Campaign, Input, Layout, Longitudinal, Mode, Periods, Terms};
use scumble::certificate::SigningKey;
use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Encoder, Report};
use scumble::vectors::Range;
use scumble_collector::collection::Collection;
use scumble_collector::collector::Settings;
use scumble_collector::{run, server};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BATCH: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
    match value("--serve") {
        Some(folder) => serve(Path::new(&folder), &value("--store").unwrap()),
        None if arguments.iter().any(|a| a == "--bare") => bare(),
        None => measure(
            value("--seconds").map_or(10.0, |text| text.parse().unwrap()),
            value("--reports").map_or(10_000_000, |text| text.parse().unwrap()),
            value("--store"),
        ),
    }
}

/// One campaign: 256 bits per row, so 64 bytes per report.
fn collection() -> Collection {
    let range = Range { lo: -1.0, hi: 1.0 };
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::DpSignoporpCeil,
        dim: 384,
        k: 256,
        epsilon: 4.0,
        beta: 1.0,
        range,
        seed: Seed([3; 32]),
    });
    let mechanism = Mechanism::new(parameters).unwrap();
    let encoder = Encoder::new(&mechanism, None).unwrap();
    let terms = Terms {
        name: "load".into(),
        statement: "A load test.".into(),
        collector: "http://127.0.0.1".into(),
        input: Input { layout: Layout::Dense, description: String::new(), model: None },
        periods: Periods { first: run::now() - 10, seconds: 80_000, count: 3 },
        longitudinal: Longitudinal { mode: Mode::Once, contents: 1 },
        min_reports: 100,
        retention_days: 30,
    };
    let campaign = Campaign::new(&mechanism, &encoder, terms).unwrap();
    Collection::parse(&campaign.signed(&SigningKey::generate().unwrap()).to_json(), None).unwrap()
}

fn settings() -> Settings {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut settings = Settings { listen: any, admin: any, ..Settings::default() };
    settings.service.per_address = 0;
    settings.server.most_per_address = 0;
    settings
}

fn serve(folder: &Path, store: &str) {
    let collection = Collection::parse(&std::fs::read_to_string(folder.join("campaign.json")).unwrap(), None).unwrap();
    run::serve(settings(), store, vec![collection], run::clock(None).unwrap(), |public, _| {
        println!("listening {public}")
    })
    .unwrap();
}

/// The same connections, a handler that stores nothing.
fn bare() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let router: Router = Router::new().route(
            "/v1/campaigns/{digest}/reports",
            post(|body: Bytes| async move { format!(r#"{{"accepted":{},"duplicate":0,"rejected":[]}}"#, body.len()) }),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening {}", listener.local_addr().unwrap());
        let (_stop, stopped) = tokio::sync::watch::channel(false);
        server::serve(listener, None, router, settings().server, metrics::Gauge::noop(), stopped).await;
    });
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        let mut child = Command::new(exe).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening ").expect("it listens").parse().unwrap();
        Self { child, address }
    }

    /// Memory that the process has to itself, in MiB.
    fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status(); // SIGTERM
        let _ = self.child.wait();
    }
}

/// What one phase of load saw.
#[derive(Default, Clone)]
struct Seen {
    reports: u64,
    requests: u64,
    refused: u64,
    seconds: f64,
    times: Vec<f64>, // of answers, in milliseconds
}

impl Seen {
    fn rate(&self) -> f64 {
        self.reports as f64 / self.seconds
    }

    fn quantile(&mut self, q: f64) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times
            .get(((self.times.len() as f64 * q) as usize).min(self.times.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::NAN)
    }
}

#[derive(Clone, Copy)]
struct Load {
    connections: usize,
    batch: usize,
    seconds: f64,
    /// Requests per second in all; `None`: as fast as answers come.
    pace: Option<f64>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Sends new reports for a while.
fn load(address: SocketAddr, collection: &Collection, load: Load) -> Seen {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let head = Arc::new(format!(
        "POST /v1/campaigns/{}/reports HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        collection.name(),
        load.batch * collection.campaign().report_length
    ));
    let campaign: [u8; 8] = *collection.digest().first_chunk().unwrap();
    let start = Instant::now();
    let seen = runtime.block_on(async {
        let tasks: Vec<_> = (0..load.connections)
            .map(|at| tokio::spawn(send(address, head.clone(), campaign, load, at, start)))
            .collect();
        let mut all = Seen::default();
        for task in tasks {
            let one = task.await.unwrap();
            all.reports += one.reports;
            all.requests += one.requests;
            all.refused += one.refused;
            all.times.extend(one.times);
        }
        all
    });
    Seen { seconds: start.elapsed().as_secs_f64(), ..seen }
}

async fn send(
    address: SocketAddr,
    head: Arc<String>,
    campaign: [u8; 8],
    load: Load,
    at: usize,
    start: Instant,
) -> Seen {
    let mut seen = Seen::default();
    let Ok(mut stream) = TcpStream::connect(address).await else { return seen };
    let _ = stream.set_nodelay(true);
    let (mut request, mut answer) = (Vec::new(), vec![0; 4096]);
    let mut due = load.pace.map(|pace| at as f64 / pace); // connections take turns
    while start.elapsed().as_secs_f64() < load.seconds {
        if let Some(due) = &mut due {
            tokio::time::sleep_until((start + Duration::from_secs_f64(*due)).into()).await;
            *due += load.connections as f64 / load.pace.expect("paced");
        }
        request.clear();
        request.extend_from_slice(head.as_bytes());
        for _ in 0..load.batch {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let hash = blake3::hash(&number.to_le_bytes());
            let id = *hash.as_bytes().first_chunk().unwrap();
            request.extend(Report { campaign, period: 0, id, row: hash.as_bytes() }.to_bytes());
        }
        let sent = Instant::now();
        if stream.write_all(&request).await.is_err() {
            break;
        }
        let Some(status) = read_answer(&mut stream, &mut answer).await else { break };
        seen.requests += 1;
        match status {
            200 => {
                seen.reports += load.batch as u64;
                seen.times.push(sent.elapsed().as_secs_f64() * 1e3);
            }
            _ => {
                seen.refused += 1;
                tokio::time::sleep(Duration::from_millis(10)).await; // far sooner than it was asked to
            }
        }
    }
    seen
}

/// Reads one answer and gives its status.
async fn read_answer(stream: &mut TcpStream, room: &mut [u8]) -> Option<u16> {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut room[filled..]).await.ok().filter(|&read| read > 0)?;
        filled += read;
        let text = std::str::from_utf8(&room[..filled]).ok()?;
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
            if body.len() >= length {
                return head.get(9..12)?.parse().ok();
            }
        }
    }
}

fn measure(seconds: f64, reports: u64, store: Option<String>) {
    let folder = tempfile::tempdir_in(".").unwrap(); // on the disk of the project, not in memory
    let collection = collection();
    std::fs::write(folder.path().join("campaign.json"), collection.text()).unwrap();
    let store = store.unwrap_or_else(|| folder.path().join("store.db").to_str().unwrap().to_owned());
    let bare = Server::start(&["--bare"]);
    let server = Server::start(&["--serve", folder.path().to_str().unwrap(), "--store", &store]);

    println!("| what | figure |\n|---|---|");
    let single = Load { connections: 512, batch: 1, seconds, pace: None };
    let batches = Load { connections: 32, batch: BATCH, seconds, pace: None };
    let plain = load(bare.address, &collection, single).rate();
    let durable = load(server.address, &collection, single);
    drop(bare);
    println!("| bare axum handler, single reports | {plain:.0} requests/s |");
    println!(
        "| collector, single reports, durable | {:.0} requests/s, {:.2} of bare |",
        durable.rate(),
        durable.rate() / plain
    );
    let full = load(server.address, &collection, batches);
    println!("| batches of {BATCH} | {:.0} reports/s |", full.rate());
    let pace = Some(0.8 * full.rate() / BATCH as f64);
    let mut calm = load(server.address, &collection, Load { pace, connections: 64, ..batches });
    println!(
        "| at 80% of that | {:.0} reports/s, median {:.1} ms, p99 {:.1} ms |",
        calm.rate(),
        calm.quantile(0.5),
        calm.quantile(0.99)
    );
    let flood = load(server.address, &collection, Load { connections: 320, ..batches });
    println!(
        "| ten times the senders | {:.0} reports/s, {:.2} of the load before; {} of {} requests told to wait |",
        flood.rate(),
        flood.rate() / full.rate(),
        flood.refused,
        flood.requests
    );
    let after = load(server.address, &collection, batches);
    println!("| afterwards | {:.0} reports/s, {:.2} of the load before |", after.rate(), after.rate() / full.rate());
    let mut sent: u64 = durable.reports + full.reports + calm.reports + flood.reports + after.reports;
    println!("| memory after {:.1} million reports | {:.0} MiB |", sent as f64 / 1e6, server.memory());
    while sent < reports {
        sent += load(server.address, &collection, Load { seconds: 10.0, ..batches }).reports;
        println!("| memory after {:.1} million reports | {:.0} MiB |", sent as f64 / 1e6, server.memory());
    }
}
