//! Seconds that the library takes to release an `.npy` of vectors that lies in memory: the least of several runs.
//!
//! `time_release FILE.npy MECHANISM K EPSILON RUNS`, range [0, 1]. What python/bench/overhead.py compares itself with.

use scumble::files::{ReadOptions, read_all};
use scumble::mechanism::{Mechanism, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::Range;
use std::{env, path::Path, time::Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, mechanism, k, epsilon, runs] = &arguments[..] else {
        return Err("time_release FILE.npy MECHANISM K EPSILON RUNS".into());
    };
    let batch = read_all(Path::new(file), &ReadOptions::default())?;
    let (range, seed) = (Range::new(0.0, 1.0)?, Seed([0; 32]));
    let parameters = Parameters::new(Required {
        mechanism: mechanism.parse()?,
        dim: batch.rows().dim(),
        k: k.parse()?,
        epsilon: epsilon.parse()?,
        beta: 1.0,
        range,
        seed,
    });
    let releaser = Releaser::new(Mechanism::new(parameters)?, None)?;
    let mut best = f64::INFINITY;
    for _ in 0..runs.parse()? {
        let start = Instant::now();
        let release = Release::from_rows(&releaser, batch.rows())?;
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(release.len(), batch.rows().len());
    }
    println!("{best}");
    Ok(())
}
