//! Seconds to read a release and to decode it: the least of several runs of each, in one process.
//!
//! `time_decode RELEASE RUNS` (`.npy` or `.parquet`). Decoding holds fitting (one pass) and decoding (one pass).

use scumble::decode::{Decoder, Method};
use scumble::files::read_release;
use scumble::release::Release;
use std::{env, path::Path, time::Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, runs] = &arguments[..] else { return Err("time_decode RELEASE RUNS".into()) };
    let [mut reading, mut fitting, mut decoding] = [f64::INFINITY; 3];
    for _ in 0..runs.parse()? {
        let start = Instant::now();
        let file = read_release(Path::new(file))?;
        reading = reading.min(start.elapsed().as_secs_f64());
        let release = Release::from_parts(&file.certificate, file.bytes, file.ids, file.labels)?;
        let start = Instant::now();
        let decoder = Decoder::fit(&release, Method::Wiener)?;
        fitting = fitting.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let decoded = decoder.decode(&release)?;
        decoding = decoding.min(start.elapsed().as_secs_f64());
        assert_eq!(decoded.len(), release.len());
    }
    println!("reading {reading:.2} s, fitting {fitting:.2} s, decoding {decoding:.2} s");
    Ok(())
}
