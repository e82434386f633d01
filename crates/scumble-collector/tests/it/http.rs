//! The service: answers, limits, hostile clients, and what it leaves behind.

use crate::support::*;
use scumble_collector::collector::Settings;
use scumble_collector::store::{Each, Export, Outcome, PeriodCount, Report, Store, StoreError};
use scumble_collector::token;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn start() -> (Place, scumble_collector::collection::Collection, Running) {
    let (place, collection) = (Place::sqlite(), collection());
    let running = Running::start(settings(), place.open().unwrap(), &collection);
    (place, collection, running)
}

#[test]
fn reports_are_answered_one_by_one() {
    let (_place, collection, running) = start();
    running.clock.store(START + PERIOD, Ordering::SeqCst); // periods 0 and 1 are open
    let report = |period, person, row| report_bytes(&collection, period, person, row);
    assert_eq!(running.post(&collection, &report(0, 1, 10)).receipt(), (1, 0, vec![]));
    let mut other = report(1, 9, 9);
    other[5] ^= 1;
    let mut garbage = report(1, 9, 9);
    garbage[0] = b'x';
    let many =
        [report(0, 1, 10), report(0, 1, 11), report(1, 1, 12), report(2, 3, 3), report(20, 3, 3), other, garbage]
            .concat();
    let reasons = [(1, "conflict"), (3, "period-unknown"), (4, "period-unknown"), (5, "campaign"), (6, "format")];
    let reasons: Vec<_> = reasons.iter().map(|(place, reason)| (*place, (*reason).to_owned())).collect();
    assert_eq!(running.post(&collection, &many).receipt(), (1, 1, reasons));
    running.clock.store(START + 2 * PERIOD, Ordering::SeqCst);
    assert_eq!(running.post(&collection, &report(0, 1, 10)).receipt(), (0, 0, vec![(0, "period-closed".into())]));
    for wrong in [&b""[..], &b"x"[..], &report(1, 1, 1)[1..], &[report(1, 1, 1), vec![0]].concat()] {
        assert_eq!(running.post(&collection, wrong).status, 400, "{} bytes", wrong.len());
    }
    running.stop();
}

#[test]
fn pages_are_where_they_belong() {
    let (_place, collection, running) = start();
    let path = format!("/v1/campaigns/{}", collection.name());
    let page = request(running.public, "GET", &path, "", b"");
    assert_eq!((page.status, page.body.as_str()), (200, collection.text()));
    assert!(page.head.contains("immutable") && page.head.contains("access-control-allow-origin: *"));
    let tag = format!("\"{}\"", collection.name());
    let known = [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"a\", W/{tag} ,\"b\""),
        "*".into(),
        format!("\"a\"\r\nif-none-match: {tag}"),
    ];
    for tags in known {
        let answer = request(running.public, "GET", &path, &format!("if-none-match: {tags}\r\n"), b"");
        assert!(answer.status == 304 && answer.head.contains(&format!("etag: {tag}")), "{tags}: {answer:?}");
    }
    for tags in ["\"a\"", "W/\"a\", \"b\"", "", "W/", collection.name().as_str()] {
        let answer = request(running.public, "GET", &path, &format!("if-none-match: {tags}\r\n"), b"");
        assert_eq!(answer.status, 200, "{tags}");
    }
    for (method, path) in
        [("GET", "%ff"), ("GET", "%ff/file"), ("POST", "%ff/reports"), ("GET", "%00"), ("GET", "%C3%28")]
    {
        let answer = request(running.public, method, &format!("/v1/campaigns/{path}"), "", b"");
        assert!(answer.status == 404 && answer.head.contains("application/json"), "{path}: {answer:?}");
        assert_eq!(answer.body, r#"{"error":"no such campaign"}"#);
    }
    assert_eq!(request(running.public, "DELETE", &path, "", b"").status, 405);
    let wrong = format!("/v1/campaigns/{}", "0".repeat(64));
    assert_eq!(request(running.public, "GET", &wrong, "", b"").status, 404);
    let asks = "origin: https://a.example\r\naccess-control-request-method: POST\r\n";
    let allowed = request(running.public, "OPTIONS", &format!("{path}/reports"), asks, b"");
    assert!(
        allowed.status == 204 && allowed.head.contains("access-control-allow-headers: authorization, content-type")
    );
    for page in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(request(running.admin, "GET", page, "", b"").status, 200, "{page}");
        assert_eq!(request(running.public, "GET", page, "", b"").status, 404, "{page} is not public");
        assert_eq!(request(running.admin, "GET", &path, "", b"").status, 404);
    }
    running.post(&collection, &report_bytes(&collection, 0, 1, 1));
    let metrics = request(running.admin, "GET", "/metrics", "", b"").body;
    assert!(metrics.contains("scumble_reports_total{outcome=\"accepted\"} 1"), "{metrics}");
    running.stop();
}

/// A browser sends plain text to any address unasked, and says for which page.
#[test]
fn pages_of_another_origin_are_refused() {
    let (place, collection) = (Place::sqlite(), collection());
    let mut settings = settings();
    settings.service.origin = "https://app.example".into();
    let running = Running::start(settings, place.open().unwrap(), &collection);
    let path = format!("/v1/campaigns/{}", collection.name());
    let send = format!("{path}/reports");
    let report = report_bytes(&collection, 0, 1, 1);
    let text = "content-type: text/plain\r\n";
    for origin in ["https://evil.example", "null", "https://app.example.evil", "http://app.example", ""] {
        let headers = format!("{text}origin: {origin}\r\n");
        let refused = request(running.public, "POST", &send, &headers, &report);
        assert!(refused.status == 403 && refused.body.contains("origin"), "{origin}: {refused:?}");
        assert_eq!(request(running.public, "GET", &path, &headers, b"").status, 403);
        let asks = format!("{headers}access-control-request-method: POST\r\n");
        let asked = request(running.public, "OPTIONS", &send, &asks, b"");
        assert!(asked.status == 403 && !asked.head.contains("allow-methods"), "{asked:?}");
    }
    let both = format!("{text}origin: https://app.example\r\norigin: null\r\n");
    assert_eq!(request(running.public, "POST", &send, &both, &report).status, 403);
    let ours = format!("{text}origin: https://app.example\r\n");
    assert_eq!(request(running.public, "POST", &send, &ours, &report).receipt(), (1, 0, vec![]));
    assert_eq!(running.post(&collection, &report).receipt(), (0, 1, vec![]), "a device names no origin");
    let asked =
        request(running.public, "OPTIONS", &send, &format!("{ours}access-control-request-method: POST\r\n"), b"");
    assert!(asked.status == 204 && asked.head.contains("allow-origin: https://app.example"), "{asked:?}");
    running.stop();
}

/// Devices get the file that the campaign names from the same place, byte for byte; a word that the book lacks is no row.
#[test]
fn a_public_file_is_served_beside_its_campaign() {
    let (place, collection) = (Place::sqlite(), collection_of_words());
    let running = Running::start(settings(), place.open().unwrap(), &collection);
    let path = format!("/v1/campaigns/{}/file", collection.name());
    let file = collection.file().unwrap();
    let (head, body) = request_bytes(running.public, &path, "");
    assert!(head.starts_with("HTTP/1.1 200") && body == file[..]);
    let tag = format!("if-none-match: \"{}\"\r\n", collection.name());
    assert_eq!(request(running.public, "GET", &path, &tag, b"").status, 304);
    assert_eq!(request(running.public, "POST", &path, "", b"").status, 405);
    // A download that was cut off goes on where it stopped.
    let length = file.len();
    let part = |range: &str| request(running.public, "GET", &path, &format!("range: {range}\r\n"), b"");
    for (range, wanted) in [("bytes=0-9", 0..10), ("bytes=10-", 10..length), ("bytes=-3", length - 3..length)] {
        let (head, body) = request_bytes(running.public, &path, &format!("range: {range}\r\n"));
        assert!(head.starts_with("HTTP/1.1 206") && body == file[wanted.clone()], "{range}: {head}");
        assert!(head.contains(&format!("bytes {}-{}/{length}", wanted.start, wanted.end - 1)), "{head}");
    }
    let beyond = part(&format!("bytes={length}-"));
    assert!(beyond.status == 416 && beyond.head.contains(&format!("bytes */{length}")), "{beyond:?}");
    for other in ["bytes=0-1,4-5", "rows=0-9", "bytes=9-0", "bytes=x-", "bytes=-"] {
        assert_eq!(part(other).status, 200, "{other}");
    }
    let other = request(running.public, "GET", &path, "range: bytes=0-9\r\nif-range: \"other\"\r\n", b"");
    assert_eq!(other.status, 200);
    let word = |person: u32, word: u16| {
        let campaign = *collection.digest().first_chunk().unwrap();
        scumble::release::Report { campaign, period: 0, id: id_of(person), row: &word.to_le_bytes() }.to_bytes()
    };
    let many = [word(1, 49), word(2, 50)].concat();
    assert_eq!(running.post(&collection, &many).receipt(), (1, 0, vec![(1, "row".into())]));
    running.stop();

    let (_place, collection, running) = start();
    let none = request(running.public, "GET", &format!("/v1/campaigns/{}/file", collection.name()), "", b"");
    assert!(none.status == 404 && none.body.contains("names no public file"), "{none:?}");
    running.stop();
}

/// An answer whose body is not text: its head, and its body.
fn request_bytes(address: std::net::SocketAddr, path: &str, headers: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let body = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let body = bytes.split_off(body);
    (String::from_utf8(bytes).unwrap(), body)
}

#[test]
fn tokens_open_and_close_a_campaign() {
    let (place, collection, running) = start();
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let report = report_bytes(&collection, 0, 1, 1);
    let post = |headers: &str| request(running.public, "POST", &path, headers, &report);
    assert_eq!(post("").status, 200, "without tokens anyone may send");
    let token = token::generate().unwrap();
    let mut store = place.open().unwrap();
    let key = store.campaigns().unwrap()[0].key;
    store.add_token(key, token::hash(&token)).unwrap();
    while post("").status == 200 {} // until housekeeping has read it
    let refused = post("authorization: Bearer wrong\r\n");
    assert!(refused.status == 401 && refused.head.contains("www-authenticate: bearer"), "{refused:?}");
    assert_eq!(post(&format!("authorization: Basic {token}\r\n")).status, 401);
    assert_eq!(post(&format!("authorization: bearer {token}\r\n")).status, 200);
    running.stop();
}

#[test]
fn one_address_cannot_flood() {
    let (place, collection) = (Place::sqlite(), collection());
    let mut settings = settings();
    settings.service.per_address = 1;
    settings.service.behind_proxy = true;
    let running = Running::start(settings, place.open().unwrap(), &collection);
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let post = |from: &str| {
        let headers = format!("x-forwarded-for: 10.9.9.9, {from}\r\n");
        request(running.public, "POST", &path, &headers, &report_bytes(&collection, 0, 1, 1))
    };
    let refused = (0..1000).map(|_| post("10.0.0.1")).find(|answer| answer.status == 429);
    let refused = refused.expect("one after the other is more than one a second");
    assert!(refused.head.contains("retry-after: "));
    assert_eq!(post("10.0.0.2").status, 200, "another address is served");
    running.stop();
}

/// Whatever a proxy writes, somebody's limit applies: with a port or brackets the sender's, otherwise one for all.
#[test]
fn no_form_of_an_address_is_without_a_limit() {
    let flood = |line: &str, same: &str| {
        let (place, collection) = (Place::sqlite(), collection());
        let mut settings = settings();
        settings.service.per_address = 1;
        settings.service.behind_proxy = true;
        let running = Running::start(settings, place.open().unwrap(), &collection);
        let path = format!("/v1/campaigns/{}/reports", collection.name());
        let post = |headers: &str| {
            let report = report_bytes(&collection, 0, 1, 1);
            request(running.public, "POST", &path, headers, &report).status
        };
        let lines = [line, same].map(str::to_owned);
        assert!((0..1000).any(|at| post(&lines[at % 2]) == 429), "{line:?} and {same:?} are one place");
        assert_eq!(post("x-forwarded-for: 198.51.100.9\r\n"), 200, "another address is served");
        running.stop();
    };
    flood("x-forwarded-for: 203.0.113.7:4711\r\n", "x-forwarded-for: 203.0.113.7\r\n");
    flood("x-forwarded-for: [2001:db8::1]:4711\r\n", "x-forwarded-for: 2001:db8::2\r\n");
    flood("x-forwarded-for: [2001:db8::1]\r\n", "x-forwarded-for: [2001:db8::3]:1\r\n");
    flood("x-forwarded-for: unknown\r\n", "x-forwarded-for: 203.0.113.7,\r\n");
    flood("", "x-forwarded-for: \r\n");
    flood("x-forwarded-for: 1.2.3\r\n", "x-forwarded-for: 203.0.113.7, [::1\r\n");
}

/// A store whose disk is slow, full or gone, as the test says.
struct Sick {
    store: Box<dyn Store>,
    full: Arc<AtomicBool>,
    gate: Option<mpsc::Receiver<()>>,
}

impl Store for Sick {
    fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
        if let Some(gate) = &self.gate {
            let _ = gate.recv(); // opened by the test, or for good when it ends
        }
        if self.full.load(Ordering::SeqCst) { Err(StoreError::Full) } else { self.store.append(reports) }
    }
    fn probe(&mut self) -> Result<(), StoreError> {
        if self.full.load(Ordering::SeqCst) { Err(StoreError::Full) } else { self.store.probe() }
    }
    delegate!(add_campaign, close, record_export, rest);
}

#[test]
fn a_full_disk_refuses_and_the_service_stays_up() {
    let (place, collection, full) = (Place::sqlite(), collection(), Arc::new(AtomicBool::new(false)));
    let store = Sick { store: place.open().unwrap(), full: full.clone(), gate: None };
    let running = Running::start(settings(), Box::new(store), &collection);
    let report = report_bytes(&collection, 0, 1, 1);
    full.store(true, Ordering::SeqCst);
    let refused = running.post(&collection, &report);
    assert!(refused.status == 503 && refused.head.contains("retry-after"), "{refused:?}");
    assert_eq!(request(running.admin, "GET", "/readyz", "", b"").status, 503);
    assert_eq!(request(running.admin, "GET", "/healthz", "", b"").status, 200);
    full.store(false, Ordering::SeqCst);
    while request(running.admin, "GET", "/readyz", "", b"").status != 200 {} // the probe finds it
    assert_eq!(running.post(&collection, &report).receipt(), (1, 0, vec![]));
    running.stop();
}

#[test]
fn a_full_queue_turns_away_and_loses_nothing() {
    let (place, collection) = (Place::sqlite(), collection());
    let (open, gate) = mpsc::channel();
    let store = Sick { store: place.open().unwrap(), full: Arc::default(), gate: Some(gate) };
    let settings = Settings { queue: 10, housekeeping: Duration::from_secs(3600), ..settings() };
    let running = Running::start(settings, Box::new(store), &collection);
    let bodies: Vec<_> = (0..30).map(|person| report_bytes(&collection, 0, person, person)).collect();
    let mut answers = std::thread::scope(|scope| {
        let threads: Vec<_> =
            bodies.iter().map(|body| scope.spawn(|| running.post(&collection, body).status)).collect();
        // Twenty are turned away while the store hangs; only then is it let go on.
        while threads.iter().filter(|thread| thread.is_finished()).count() < 20 {
            std::thread::yield_now();
        }
        drop(open);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    answers.sort_unstable();
    assert_eq!(answers, [[200; 10].as_slice(), &[429; 20]].concat());
    let again: (u64, u64) = bodies
        .iter()
        .map(|body| running.post(&collection, body).receipt())
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!(again, (20, 10), "what was acknowledged is there, the rest is new");
    running.stop();
}

/// What can never be taken is not asked for again.
#[test]
fn more_reports_than_may_wait_are_too_many_for_one_request() {
    let (place, collection) = (Place::sqlite(), collection());
    let settings = Settings { queue: 10, ..settings() };
    let running = Running::start(settings, place.open().unwrap(), &collection);
    let body: Vec<_> = (0..11).flat_map(|person| report_bytes(&collection, 0, person, person)).collect();
    let refused = running.post(&collection, &body);
    assert!(refused.status == 413 && refused.body.contains("send fewer"), "{refused:?}");
    assert!(!refused.head.contains("retry-after"), "{refused:?}");
    let fewer = &body[..10 * collection.campaign().report_length];
    assert_eq!(running.post(&collection, fewer).receipt(), (10, 0, vec![]));
    running.stop();
}

/// A stop while requests are on their way: each is answered, and what was answered is there.
#[test]
fn a_stop_drains() {
    let (place, collection, running) = start();
    let address = running.public;
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let (started, first) = mpsc::channel();
    let sender = std::thread::spawn({
        let collection = collection.clone();
        move || {
            let mut taken = Vec::new();
            for person in 0.. {
                match try_request(address, "POST", &path, "", &report_bytes(&collection, 0, person, person)) {
                    Ok(answer) if answer.status == 200 => taken.push(person),
                    _ => break,
                }
                let _ = started.send(());
            }
            taken
        }
    });
    (0..20).for_each(|_| first.recv().unwrap());
    running.stop();
    let taken = sender.join().unwrap();
    let mut store = place.open().unwrap();
    let key = store.campaigns().unwrap()[0].key;
    let group: Vec<_> = taken.iter().map(|&person| report(key, 0, person, person)).collect();
    assert!(group.len() >= 20);
    assert!(store.append(&group).unwrap().iter().all(|outcome| *outcome == Outcome::Duplicate));
}

#[test]
fn slow_clients_are_cut_off_and_honest_ones_served() {
    let (place, collection) = (Place::sqlite(), collection());
    let mut settings = settings();
    settings.server.header_timeout = Duration::from_millis(300);
    settings.service.body_timeout = Duration::from_millis(300);
    settings.server.most_connections = 64;
    let running = Running::start(settings, place.open().unwrap(), &collection);
    let open = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(running.public).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    // More slow clients than there are places: each ends at its deadline.
    let mut slow: Vec<_> = (0..60).map(|_| open(b"POST / HTTP/1.1\r\nhost: x\r\nx-slow: ")).collect();
    slow.extend(
        (0..60).map(|_| open(format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 36\r\n\r\nscr1").as_bytes())),
    );
    for person in 0..5 {
        assert_eq!(running.post_patiently(&collection, &report_bytes(&collection, 0, person, 1)).receipt().0, 1);
    }
    for mut stream in slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest); // ends, by itself
    }
    assert_eq!(running.post_patiently(&collection, &report_bytes(&collection, 0, 99, 1)).receipt().0, 1);
    running.stop();
}

#[test]
fn hostile_clients_are_refused_and_honest_ones_served() {
    let (_place, collection, running) = start();
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let send = |bytes: &[u8]| exchange(running.public, bytes);
    let long = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    assert!(send(long.as_bytes()).map_or(431, |answer| answer.status) == 431); // it may hang up while we write
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "x: y\r\n".repeat(1000));
    assert!(send(many.as_bytes()).map_or(431, |answer| answer.status) == 431);
    let large = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 99999999999\r\n\r\n");
    assert_eq!(send(large.as_bytes()).unwrap().status, 413);
    let chunked = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = [chunked.as_bytes(), b"200000\r\n", &vec![0; 0x200000], b"\r\n0\r\n\r\n"].concat();
    assert_eq!(send(&chunk).map_or(413, |answer| answer.status), 413);
    // A thousand requests before the first answer is read.
    let one = format!("GET /v1/campaigns/{} HTTP/1.1\r\nhost: x\r\n\r\n", "0".repeat(64));
    let mut piped = TcpStream::connect(running.public).unwrap();
    piped.write_all(one.repeat(1000).as_bytes()).unwrap();
    piped.write_all("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_string().as_bytes()).unwrap();
    let mut answers = String::new();
    piped.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 404").count(), 1001);
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = send(garbage).map_or(400, |answer| answer.status);
        assert!([400, 505].contains(&answer), "{answer}");
    }
    assert_eq!(running.post(&collection, &report_bytes(&collection, 0, 99, 1)).receipt().0, 1);
    running.stop();
}

#[test]
fn nothing_that_is_no_tls_disturbs_tls() {
    let (_folder, path) = folder();
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .arg(path.join("key.pem"))
        .arg("-out")
        .arg(path.join("cert.pem"))
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("!! openssl is not here: the test of TLS is LEFT OUT");
        return;
    }
    let (place, collection) = (Place::sqlite(), collection());
    let settings = Settings { tls: Some((path.join("cert.pem"), path.join("key.pem"))), ..settings() };
    let running = Running::start(settings, place.open().unwrap(), &collection);
    assert!(exchange(running.public, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").is_err(), "plain text is not answered");
    let curl = std::process::Command::new("curl")
        .args(["-sS", "--cacert"])
        .arg(path.join("cert.pem"))
        .arg(format!("https://localhost:{}/v1/campaigns/{}", running.public.port(), collection.name()))
        .args(["--resolve", &format!("localhost:{}:127.0.0.1", running.public.port())])
        .output();
    match curl {
        Ok(curl) => assert_eq!(String::from_utf8_lossy(&curl.stdout), collection.text()),
        Err(_) => eprintln!("!! curl is not here: TLS is only tested to refuse plain text"),
    }
    running.stop();
}
