//! Sums of products over all rows of a table, in an order of additions that no machine and no number of threads changes.
//!
//! Blocks of rows are turned into columns and multiplied by the inner-product kernels of the search, in 32-bit floats;
//! sums over blocks are 64-bit floats. Shift rows to a centre first: sums then lose no digits to a large mean.

use crate::search::each_product;
use rayon::prelude::*;
use scumble_core::simd::{self, Level};

/// Rows of a block: a product of two columns is a sum of that many 32-bit terms in eight lanes.
const BLOCK: usize = 512;

/// Columns that are multiplied at a time with all those before them.
const COLUMNS: usize = 8;

/// The most parts that a table is cut into, each with sums of its own; and the most memory that they may take.
const PARTS: usize = 32;
const PART_BYTES: usize = 256 << 20;

/// Rows that are turned at a time: a whole cache line of each column.
const TURNED: usize = 16;

/// A block of rows as columns.
struct Columns {
    k: usize,
    rows: Vec<f32>,
    values: Vec<f32>,
}

impl Columns {
    fn new(k: usize) -> Self {
        Self { k, rows: vec![0.0; k * TURNED], values: vec![0.0; k * BLOCK] }
    }

    /// Turns `count` rows into columns; missing rows are zeros, which add nothing.
    fn fill(&mut self, first: usize, count: usize, read: &impl Fn(usize, &mut [f32])) {
        if count < BLOCK {
            self.values.fill(0.0);
        }
        for start in (0..count).step_by(TURNED) {
            let rows = TURNED.min(count - start);
            let each = self.rows.chunks_exact_mut(self.k).take(rows).enumerate();
            each.for_each(|(r, row)| read(first + start + r, row));
            for (j, column) in self.values.chunks_exact_mut(BLOCK).enumerate() {
                let column = &mut column[start..start + rows];
                column.iter_mut().enumerate().for_each(|(r, value)| *value = self.rows[r * self.k + j]);
            }
        }
    }

    /// Adds the products of all pairs of columns `a <= b` to `sums[a * k + b]`.
    fn add_products(&self, level: Level, sums: &mut [f64]) {
        let k = self.k;
        for (tile, columns) in self.values.chunks(COLUMNS * BLOCK).enumerate() {
            let first = tile * COLUMNS;
            let before = &self.values[..first * BLOCK + columns.len()];
            each_product(level, BLOCK, columns, before, &mut |a, b, product| {
                if a <= first + b {
                    sums[a * k + first + b] += f64::from(product);
                }
            });
        }
    }
}

/// `sum over rows of x_a x_b` for all pairs, row by row of a symmetric `k x k` matrix. `read` gives a row.
pub(crate) fn products(rows: usize, k: usize, read: &(impl Fn(usize, &mut [f32]) + Sync)) -> Vec<f64> {
    products_at(simd::level(), rows, k, read)
}

fn products_at(level: Level, rows: usize, k: usize, read: &(impl Fn(usize, &mut [f32]) + Sync)) -> Vec<f64> {
    // How a table is cut depends on its size alone.
    let blocks = rows.div_ceil(BLOCK);
    let parts = PARTS.min(PART_BYTES / (8 * k * k).max(1)).clamp(1, blocks.max(1));
    let part = |part: usize| {
        let (mut columns, mut sums) = (Columns::new(k), vec![0.0; k * k]);
        for block in blocks * part / parts..blocks * (part + 1) / parts {
            let first = block * BLOCK;
            columns.fill(first, BLOCK.min(rows - first), read);
            columns.add_products(level, &mut sums);
        }
        sums
    };
    let parts: Vec<Vec<f64>> = (0..parts).into_par_iter().map(part).collect();
    let mut total = vec![0.0; k * k];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    for a in 0..k {
        for b in 0..a {
            total[a * k + b] = total[b * k + a];
        }
    }
    total
}

/// Sums over rows of `width` numbers per row, in parts as well.
pub(crate) fn sums(rows: usize, width: usize, read: &(impl Fn(usize, &mut [f64]) + Sync)) -> Vec<f64> {
    let blocks = rows.div_ceil(BLOCK);
    let parts = PARTS.clamp(1, blocks.max(1));
    let part = |part: usize| {
        let (mut row, mut sums) = (vec![0.0; width], vec![0.0; width]);
        for i in blocks * part / parts * BLOCK..(blocks * (part + 1) / parts * BLOCK).min(rows) {
            read(i, &mut row);
            sums.iter_mut().zip(&row).for_each(|(sum, value)| *sum += value);
        }
        sums
    };
    let parts: Vec<Vec<f64>> = (0..parts).into_par_iter().map(part).collect();
    parts.into_iter().fold(vec![0.0; width], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        total
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(i: usize, j: usize) -> f32 {
        ((i * 7919 + j * 104_729) % 2003) as f32 * 1e-3 - 1.0
    }

    #[test]
    fn products_are_those_of_the_plain_sum_and_equal_at_every_level() {
        for (rows, k) in [(0, 3), (1, 1), (7, 9), (512, 8), (513, 17), (3000, 33)] {
            let read = |i: usize, out: &mut [f32]| out.iter_mut().enumerate().for_each(|(j, x)| *x = value(i, j));
            let all: Vec<Vec<f64>> = Level::all().map(|level| products_at(level, rows, k, &read)).collect();
            assert!(all.iter().all(|found| found == &all[0]), "{rows} x {k}");
            let wide = |i: usize, out: &mut [f64]| (0..k).for_each(|j| out[j] = value(i, j).into());
            let totals = sums(rows, k, &wide);
            for a in 0..k {
                let plain: f64 = (0..rows).map(|i| f64::from(value(i, a))).sum();
                assert!((totals[a] - plain).abs() < 1e-9 * (1.0 + rows as f64));
                for b in 0..k {
                    let plain: f64 = (0..rows).map(|i| f64::from(value(i, a)) * f64::from(value(i, b))).sum();
                    assert!((all[0][a * k + b] - plain).abs() < 1e-5 * (1.0 + rows as f64), "{rows} x {k}: {a} {b}");
                }
            }
        }
    }
}
