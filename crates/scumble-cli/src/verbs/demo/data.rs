//! Made-up rows: skewed clusters of mostly sparse vectors in [0, 1], the same on every machine.

use scumble::vectors::{Rows, Scalars};
use std::io::Write;
use std::path::Path;

/// Attributes of a row.
pub const DIM: usize = 512;
/// Rows to search in.
pub const ROWS: usize = 6000;
/// Queries, drawn from the same clusters.
pub const QUERIES: usize = 100;

const CLUSTERS: usize = 80;

/// The made-up table.
pub struct Data {
    values: Vec<f32>,
}

/// SplitMix64: enough for made-up data, useless for noise.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1).
    fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}

impl Data {
    /// Rows of a cluster share their support and lean toward its centre; few clusters are large, many small.
    pub fn new() -> Self {
        let mut dice = Dice(2024);
        let mut centre = || -> Vec<f32> {
            let share = 0.15 + 0.2 * dice.uniform();
            (0..DIM).map(|_| if dice.uniform() < share { 0.35 + 0.65 * dice.uniform() } else { 0.0 }).collect()
        };
        let centres: Vec<Vec<f32>> = (0..CLUSTERS).map(|_| centre()).collect();
        let mut dice = Dice(7);
        let mut values = Vec::with_capacity((ROWS + QUERIES) * DIM);
        for _ in 0..ROWS + QUERIES {
            // u^2 makes cluster sizes fall off: the first has about an eighth of all rows.
            let cluster = ((CLUSTERS as f32) * dice.uniform().powi(2)) as usize;
            let (near, depth) = (&centres[cluster], 0.5 + 0.5 * dice.uniform());
            let other = &centres[(dice.next() % CLUSTERS as u64) as usize];
            let mix = 0.5 * dice.uniform();
            values.extend(near.iter().zip(other).map(|(&a, &b)| {
                let value = depth * ((1.0 - mix) * a + mix * b) + 0.25 * (dice.uniform() - 0.5);
                if a + b > 0.0 { value.clamp(0.0, 1.0) } else { 0.0 }
            }));
        }
        Self { values }
    }

    /// The rows to release.
    pub fn rows(&self) -> Rows<'_> {
        Rows::dense(Scalars::F32(&self.values[..ROWS * DIM]), DIM)
    }

    /// The queries.
    pub fn queries(&self) -> Rows<'_> {
        Rows::dense(Scalars::F32(&self.values[ROWS * DIM..]), DIM)
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * DIM..(i + 1) * DIM]
    }

    /// Mean norm and share of values that are not zero: the demo takes them as public knowledge.
    pub fn norm_and_density(&self) -> (f64, f64) {
        let squares: f64 = self.values.iter().map(|&x| f64::from(x).powi(2)).sum();
        let filled = self.values.iter().filter(|&&x| x != 0.0).count() as f64;
        ((squares / (ROWS + QUERIES) as f64).sqrt(), filled / self.values.len() as f64)
    }

    /// Writes the rows as `.npy`, so that other verbs can be tried on them.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {DIM}), }}");
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        file.write_all(b"\x93NUMPY\x01\x00\x76\x00")?; // version 1.0, a header of 118 bytes
        file.write_all(format!("{text:<117}\n").as_bytes())?;
        self.values[..ROWS * DIM].iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
        file.flush()
    }
}
