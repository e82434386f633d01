//! Dense matrices in the form that blocks of rows are multiplied by.

use super::dense::{Dense, WeightLaw};
use super::kernels::{self, ENTRY, GROUP, GROUPS, LANES, PAIRS, PASS, TILE};
use super::normal;
use crate::simd::Level;

/// Bits of a Gaussian weight's lower part: both parts then fit 16 bits.
const LOW_BITS: u32 = 10;

/// The largest absolute part of a Gaussian weight.
const LARGEST_PART: i64 = (normal::LARGEST >> LOW_BITS) as i64;

/// W, arranged for its kernel.
pub(super) enum DensePlan {
    /// Patterns of signs by pass, output and group.
    Signs(Vec<u16>),
    /// Attributes by output, those to add and those to subtract, and where each of both begin.
    Sparse(Vec<u32>, Vec<usize>),
    /// Weights by pass, tile of outputs and pair of attributes.
    Weights(Vec<u32>),
    /// Upper and lower parts of such weights.
    TwoParts([Vec<u32>; 2]),
}

/// Sums of a block as wide as they may become.
pub(super) enum Sums<'a> {
    I32(&'a mut [i32]),
    I64(&'a mut [i64]),
}

/// Cells as wide as the grid needs.
pub(super) enum Cells<'a> {
    I16(&'a [i16]),
    I32(&'a [i32]),
}

/// How the values of a grid up to `largest` are multiplied by W: `None` if no kernel holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    /// Cells of 32 bits instead of 16.
    pub(super) wide_cells: bool,
    /// Sums of 64 bits instead of 32.
    pub(super) wide_sums: bool,
}

impl Widths {
    pub(super) fn new(law: WeightLaw, dim: usize, largest: i64) -> Option<Self> {
        let sum = |weight: i64| dim as i128 * i128::from(largest) * i128::from(weight);
        let fits = |weight: i64| sum(weight) <= i128::from(i32::MAX);
        let short = largest <= i64::from(i16::MAX);
        match law {
            WeightLaw::Rademacher if fits(1) => {
                let wide_cells = largest * PASS as i64 > i64::from(i16::MAX);
                Some(Self { wide_cells, wide_sums: false })
            }
            WeightLaw::VerySparse { .. } if short && fits(1) => Some(Self { wide_cells: false, wide_sums: false }),
            WeightLaw::Uniform if short && fits(255) => Some(Self { wide_cells: false, wide_sums: false }),
            WeightLaw::Gaussian if short && fits(LARGEST_PART + 1) => Some(Self { wide_cells: false, wide_sums: true }),
            _ => None,
        }
    }
}

impl DensePlan {
    pub(super) fn new(dense: &Dense) -> Self {
        let (dim, k) = (dense.dim(), dense.k());
        let (pairs, outputs) = (dim.div_ceil(2), k.next_multiple_of(TILE));
        let place = |i: usize, j: usize| place(pairs, outputs, i, j);
        match dense.law() {
            WeightLaw::Rademacher => {
                let mut patterns = vec![0; dim.div_ceil(PASS) * k * GROUPS];
                dense.for_rows(0..dim, |i, row| {
                    let (pass, group, bit) = (i / PASS, i % PASS / GROUP, i % GROUP);
                    for (j, &w) in row.iter().enumerate() {
                        patterns[(pass * k + j) * GROUPS + group] += (u16::from(w > 0) << bit) * ENTRY;
                    }
                });
                Self::Signs(patterns)
            }
            WeightLaw::VerySparse { .. } => {
                let mut lists = vec![Vec::new(); 2 * k];
                dense.for_rows(0..dim, |i, row| {
                    for (j, &w) in row.iter().enumerate().filter(|(_, w)| **w != 0) {
                        lists[2 * j + usize::from(w < 0)].push(i as u32);
                    }
                });
                let mut starts = vec![0];
                starts.extend(lists.iter().scan(0, |at, list| {
                    *at += list.len();
                    Some(*at)
                }));
                Self::Sparse(lists.concat(), starts)
            }
            WeightLaw::Uniform => {
                let mut weights = vec![0; outputs * pairs];
                dense.for_rows(0..dim, |i, row| {
                    row.iter().enumerate().for_each(|(j, &w)| weights[place(i, j)] |= half_word(w, i));
                });
                Self::Weights(weights)
            }
            WeightLaw::Gaussian => {
                let mut parts = [vec![0; outputs * pairs], vec![0; outputs * pairs]];
                dense.for_rows(0..dim, |i, row| {
                    for (j, &w) in row.iter().enumerate() {
                        // w = high 2^LOW_BITS + low, with low around 0.
                        let high = (w + (1 << (LOW_BITS - 1))) >> LOW_BITS;
                        parts[0][place(i, j)] |= half_word(high, i);
                        parts[1][place(i, j)] |= half_word(w - (high << LOW_BITS), i);
                    }
                });
                Self::TwoParts(parts)
            }
        }
    }

    /// Multiplies a block by W. The widths are those of [`Widths::new`] for a grid up to `largest`.
    pub(super) fn project(&self, level: Level, cells: Cells<'_>, largest: i64, out: Sums<'_>) {
        match (self, cells, out) {
            (Self::Signs(patterns), Cells::I16(cells), Sums::I32(out)) => {
                out.fill(0);
                kernels::rademacher_i16(level, cells, patterns, out);
            }
            (Self::Signs(patterns), Cells::I32(cells), Sums::I32(out)) => {
                out.fill(0);
                kernels::rademacher_i32(level, cells, patterns, out);
            }
            (Self::Sparse(attributes, starts), Cells::I16(cells), Sums::I32(out)) => {
                let most = (i64::from(i16::MAX) / largest.max(1)).max(1) as usize;
                kernels::sparse_i16(level, cells, attributes, starts, most, out);
            }
            (Self::Weights(weights), Cells::I16(cells), Sums::I32(out)) => {
                kernels::weighted_i16(level, &even(cells), weights, out);
            }
            (Self::TwoParts([high, low]), Cells::I16(cells), Sums::I64(out)) => {
                let cells = even(cells);
                let mut parts = [vec![0; out.len()], vec![0; out.len()]];
                kernels::weighted_i16(level, &cells, high, &mut parts[0]);
                kernels::weighted_i16(level, &cells, low, &mut parts[1]);
                for ((out, &high), &low) in out.iter_mut().zip(&parts[0]).zip(&parts[1]) {
                    *out = (i64::from(high) << LOW_BITS) + i64::from(low);
                }
            }
            _ => unreachable!("widths belong to the law"),
        }
    }
}

/// Weights of `outputs` outputs for the weighted kernel; `row(j, out)` gives those of output j, which fit 16 bits.
pub(crate) fn pair_weights(dim: usize, k: usize, mut row: impl FnMut(usize, &mut [i32])) -> Vec<u32> {
    let (pairs, outputs) = (dim.div_ceil(2), k.next_multiple_of(TILE));
    let (mut weights, mut own) = (vec![0; outputs * pairs], vec![0; dim]);
    for j in 0..k {
        row(j, &mut own);
        own.iter().enumerate().for_each(|(i, &w)| weights[place(pairs, outputs, i, j)] |= half_word(w, i));
    }
    weights
}

/// Where the weighted kernel looks for attribute i's weight in output j.
fn place(pairs: usize, outputs: usize, i: usize, j: usize) -> usize {
    let (pass, at) = (i / 2 / PAIRS, i / 2 % PAIRS);
    let count = PAIRS.min(pairs - pass * PAIRS);
    pass * outputs * PAIRS + (j / TILE * count + at) * TILE + j % TILE
}

/// A weight of 16 bits in the half of a word that its attribute has.
fn half_word(w: i32, attribute: usize) -> u32 {
    u32::from(w as i16 as u16) << (16 * (attribute % 2))
}

/// An odd number of attributes gets one more, all 0.
fn even(cells: &[i16]) -> std::borrow::Cow<'_, [i16]> {
    if (cells.len() / LANES).is_multiple_of(2) {
        return cells.into();
    }
    let mut more = cells.to_vec();
    more.resize(cells.len() + LANES, 0);
    more.into()
}
