//! The demo's rows: handwritten digits, values in [0, 1].

use crate::digits::{self, IMAGES, PIXELS};
use scumble::vectors::{Rows, Scalars};
use std::path::Path;

/// Attributes of a row.
pub const DIM: usize = PIXELS;
/// Rows to search in.
pub const ROWS: usize = 6000;
/// Queries: the images after them.
pub const QUERIES: usize = IMAGES - ROWS;

/// The digits.
pub struct Data {
    values: Vec<f32>,
    labels: Vec<u8>,
}

impl Data {
    /// Unpacks them.
    pub fn new() -> Self {
        let values = digits::images().into_iter().map(|pixel| f32::from(pixel) / 255.0).collect();
        Self { values, labels: digits::labels() }
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

    /// The digit of a row.
    pub fn digit(&self, row: usize) -> u8 {
        self.labels[row]
    }

    /// The digit of a query.
    pub fn query_digit(&self, query: usize) -> u8 {
        self.labels[ROWS + query]
    }

    /// Mean norm and share of values that are not zero: the demo takes them as public knowledge of digits.
    pub fn norm_and_density(&self) -> (f64, f64) {
        let squares: f64 = self.values.iter().map(|&x| f64::from(x).powi(2)).sum();
        let filled = self.values.iter().filter(|&&x| x != 0.0).count() as f64;
        ((squares / (ROWS + QUERIES) as f64).sqrt(), filled / self.values.len() as f64)
    }

    /// The rows as `.npy`.
    fn file(&self) -> Vec<u8> {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {DIM}), }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec(); // version 1.0, a header of 118 bytes
        file.extend(format!("{text:<117}\n").as_bytes());
        file.extend(self.values[..ROWS * DIM].iter().flat_map(|value| value.to_le_bytes()));
        file
    }

    /// Writes the rows, so that other verbs can be tried on them.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        std::fs::write(path, self.file())
    }

    /// Has a demo written this file?
    pub fn is_at(&self, path: &Path) -> bool {
        std::fs::read(path).is_ok_and(|found| found == self.file())
    }
}
