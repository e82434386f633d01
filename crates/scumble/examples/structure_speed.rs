//! Speed of public structure on one thread: bins beside OPORP, and privbook. `cargo run --release --example structure_speed`

use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::{Seed, TableFile};
use scumble::release::Releaser;
use scumble::structure::make_book;
use scumble::vectors::{Range, Rows, Scalars};
use std::time::Instant;

/// Rows a second of one worker, the best of five.
fn speed(parameters: Parameters, rows: Rows<'_>) -> Result<f64, Box<dyn std::error::Error>> {
    let releaser = Releaser::new(Mechanism::new(parameters)?, None)?;
    let (mut worker, mut out) = (releaser.worker()?, Vec::new());
    let mut best = 0f64;
    for _ in 0..5 {
        let start = Instant::now();
        worker.release(rows, 0, |_| Vec::new(), &mut out)?;
        best = best.max(rows.len() as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pixels: Vec<u8> = (0..20_000 * 784).map(|i| ((i * 7919) >> 3) as u8).collect();
    let images = Rows::dense(Scalars::U8(&pixels), 784);
    for id in [MechanismId::DpOporpStaircase, MechanismId::DpSignoporpCeil, MechanismId::DpOporpZones] {
        let plain = Parameters::new(Required {
            mechanism: id,
            dim: 784,
            k: 64,
            epsilon: 1.0,
            beta: 255.0,
            range: Range::new(0.0, 255.0)?,
            seed: Seed([1; 32]),
        });
        let grid = Parameters { bins: Some("grid:28x28".parse()?), ..plain.clone() };
        println!("{id}: OPORP {:.0} rows/s, grid {:.0} rows/s", speed(plain, images)?, speed(grid, images)?);
    }
    let (words, dim) = (16_384, 384);
    let value = |i: usize| ((i * 7919 % 2003) as f32 - 1001.0) / 8000.0;
    let public: Vec<f32> = (0..words * dim).map(|i| value(i * 31 + 7)).collect();
    let private: Vec<f32> = (0..512 * dim).map(value).collect();
    let book = TableFile::of(make_book(Rows::dense(Scalars::F32(&public), dim), words)?);
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::Privbook,
        dim,
        k: dim,
        epsilon: 10.0,
        beta: 0.25,
        range: Range::new(-0.125, 0.125)?,
        seed: Seed([1; 32]),
    });
    let rows = Rows::dense(Scalars::F32(&private), dim);
    println!(
        "privbook, {words} words of {dim}: {:.0} rows/s",
        speed(Parameters { book: Some(book), ..parameters }, rows)?
    );
    Ok(())
}
