//! Hostile bytes: the decoder of reports, and the whole service. A few thousand inputs in `./test`; for longer:
//! `SCUMBLE_FUZZ_SECONDS=600 cargo test --release -p scumble-collector --test it fuzz`.

use crate::support::*;
use scumble::release::Report;
use scumble_collector::report::decode;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// splitmix64.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Changes, cuts, doubles or inserts a few bytes.
fn mutate(draw: &mut Draw, bytes: &mut Vec<u8>) {
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(bytes.len() as u64 + 1) as usize;
        match draw.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, draw.next() as u8),
            2 => {
                let part = bytes[at..].iter().copied().take(draw.below(200) as usize).collect::<Vec<_>>();
                bytes.splice(at..at, part);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << draw.below(8);
                }
            }
        }
    }
}

/// Gives numbers: `least` of them, or for as long as the environment says.
fn seeds(least: u64) -> impl Iterator<Item = u64> {
    let seconds = std::env::var("SCUMBLE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let (start, length) = (Instant::now(), seconds.map(Duration::from_secs));
    (0..).take_while(move |&seed| length.map_or(seed < least, |length| start.elapsed() < length))
}

#[test]
fn the_decoder_takes_what_devices_write_and_nothing_else() {
    let collection = collection();
    let (mut taken, mut refused) = (0, 0);
    for seed in seeds(200_000) {
        let mut draw = Draw(seed);
        let mut bytes = report_bytes(&collection, draw.below(3) as u32, draw.next() as u32, draw.next() as u32);
        mutate(&mut draw, &mut bytes);
        match decode(&collection, START + PERIOD, &bytes) {
            Ok(Report { campaign, period, id, row }) => {
                assert!(row.len() == 4 && period < 2);
                assert_eq!(Report { campaign, period, id, row }.to_bytes(), bytes);
                taken += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 1000 && refused > 1000, "{taken} taken, {refused} refused");
}

#[test]
fn no_bytes_break_the_service() {
    let (place, collection) = (Place::sqlite(), collection());
    let mut settings = settings();
    settings.server.header_timeout = Duration::from_millis(200);
    settings.service.body_timeout = Duration::from_millis(200);
    let running = Running::start(settings, place.open().unwrap(), &collection);
    let path = format!("/v1/campaigns/{}/reports", collection.name());
    let mut inputs = 0;
    for seed in seeds(3000) {
        let mut draw = Draw(seed);
        let body = report_bytes(&collection, 0, draw.below(100) as u32, draw.below(3) as u32);
        let head = [
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len()),
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len()),
            format!("GET /v1/campaigns/{} HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n", collection.name()),
            format!("OPTIONS {path} HTTP/1.0\r\naccess-control-request-method: POST\r\n\r\n"),
        ];
        let mut bytes = [head[draw.below(4) as usize].as_bytes(), &body].concat();
        mutate(&mut draw, &mut bytes);
        let mut stream = TcpStream::connect(running.public).unwrap();
        let _ = stream.write_all(&bytes); // it may hang up early
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let status = answer.get(9..12).map(|status| String::from_utf8_lossy(status).into_owned());
        let known = ["200", "204", "304", "400", "404", "405", "408", "413", "414", "431", "505"];
        assert!(
            status.as_deref().is_none_or(|status| known.contains(&status)),
            "{status:?}: {:?}",
            String::from_utf8_lossy(&bytes)
        );
        inputs += 1;
    }
    assert_eq!(
        running.post_patiently(&collection, &report_bytes(&collection, 0, 1000, 9)).receipt().0,
        1,
        "after {inputs} inputs"
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    assert!(memory.is_none_or(|kib| kib < 1 << 20), "{memory:?} KiB");
    running.stop();
}
