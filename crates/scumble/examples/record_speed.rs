//! Rows per second of the whole-record mechanisms on one thread, projected integers in, packed bits out.

use scumble::mechanism::record::privcube::{Privcube, weights};
use scumble::mechanism::record::signcap::Signcap;
use scumble_core::exact::rational;
use scumble_core::noise::SecretRng;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = SecretRng::from_os()?;
    for k in [64, 128] {
        let rows: Vec<Vec<i64>> = (0..20).map(|_| (0..k).map(|_| rng.below(2001) as i64 - 1000).collect()).collect();
        let mut out = vec![0; k / 8];
        for epsilon in [5.0, 20.0] {
            let (cube, cap) = (Privcube::new(k, &rational(epsilon))?, Signcap::new(k, &rational(epsilon))?);
            let mut w = vec![0; k];
            let speed = per_second(&rows, 1, |x| {
                weights(x, &mut w);
                cube.release(&w, &mut out, &mut rng);
            });
            println!("privcube k={k} epsilon={epsilon}: {speed:.0} rows/s");
            let speed = per_second(&rows, 50, |x| cap.release(x, &mut out, &mut rng));
            println!("signcap  k={k} epsilon={epsilon}: {speed:.0} rows/s");
        }
    }
    Ok(())
}

/// The best of 300 short rounds: what the machine can do when it is left alone.
fn per_second(rows: &[Vec<i64>], passes: usize, mut release: impl FnMut(&[i64])) -> f64 {
    let round = |release: &mut dyn FnMut(&[i64])| {
        let start = Instant::now();
        (0..passes).for_each(|_| rows.iter().for_each(|x| release(x)));
        start.elapsed().as_secs_f64()
    };
    let best = (0..300).map(|_| round(&mut release)).fold(f64::INFINITY, f64::min);
    (rows.len() * passes) as f64 / best
}
