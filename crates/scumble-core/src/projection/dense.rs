//! Dense matrices: every entry is drawn from the `matr` stream by its own law.

use super::cache::{Cache, compute_once};
use super::dense_blocks::DensePlan;
use super::stream::{MATRIX, Stream};
use super::{Seed, normal, spectral};
use crate::chacha::ChaCha20Rng;
use crate::parallel;
use crate::vectors::PrivateRow;
use rand_core::Rng;
use std::ops::Range;
use std::sync::OnceLock;

/// W is kept in memory up to this many entries; a larger one is computed row by row whenever it is needed.
const CACHED_ENTRIES: usize = 32 << 20;
/// Bytes of the stream that are expanded at a time, on the stack.
const BUFFER: usize = 512;

/// The law of one entry, as integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WeightLaw {
    Gaussian,
    Uniform,
    /// `threshold` of the 2^32 words give +1, as many give -1.
    VerySparse {
        threshold: u32,
    },
    Rademacher,
}

impl WeightLaw {
    /// Random bits per entry.
    fn bits(self) -> usize {
        match self {
            Self::Gaussian => 64,
            Self::Uniform => 8,
            Self::VerySparse { .. } => 32,
            Self::Rademacher => 1,
        }
    }

    /// The largest absolute entry that the law can give.
    pub(super) fn largest(self) -> i32 {
        match self {
            Self::Gaussian => normal::LARGEST,
            Self::Uniform => 255,
            Self::VerySparse { .. } | Self::Rademacher => 1,
        }
    }

    /// Turns the next words of the stream into entries; consumes whole words.
    fn expand(self, rng: &mut ChaCha20Rng, out: &mut [i32]) {
        let mut buffer = [0; BUFFER];
        for part in out.chunks_mut(8 * BUFFER / self.bits()) {
            let bytes = &mut buffer[..4 * (part.len() * self.bits()).div_ceil(32)];
            rng.fill_bytes(bytes);
            let word = |at: usize| {
                u32::from_le_bytes([bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]])
            };
            for (j, w) in part.iter_mut().enumerate() {
                *w = match self {
                    Self::Gaussian => normal::weight(u64::from(word(2 * j)) | u64::from(word(2 * j + 1)) << 32),
                    Self::Uniform => 2 * i32::from(bytes[j]) - 255,
                    Self::VerySparse { threshold } => {
                        let u = word(j);
                        i32::from(u < threshold) - i32::from(u >= threshold.wrapping_neg())
                    }
                    Self::Rademacher => 2 * i32::from(bytes[j / 8] >> (j % 8) & 1) - 1,
                };
            }
        }
    }
}

/// All of W, row after row, in the smallest type that holds its law.
enum Matrix {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
}

/// Realised extremes of W, exact.
pub(super) struct Extremes {
    pub(super) norm1: u64,
    pub(super) squared_norm2: u128,
    pub(super) per_output: Vec<u32>,
}

/// A dense matrix, as a function of its seed.
pub(super) struct Dense {
    law: WeightLaw,
    stream: Stream,
    dim: usize,
    k: usize,
    matrix: Cache<Matrix>,
    plan: OnceLock<DensePlan>,
    extremes: OnceLock<Extremes>,
    operator_norm: OnceLock<f64>,
}

impl Dense {
    pub(super) fn new(law: WeightLaw, seed: &Seed, dim: usize, k: usize) -> Self {
        Self {
            law,
            stream: Stream::new(seed, MATRIX, 0),
            dim,
            k,
            matrix: Cache::new(),
            plan: OnceLock::new(),
            extremes: OnceLock::new(),
            operator_norm: OnceLock::new(),
        }
    }

    pub(super) fn law(&self) -> WeightLaw {
        self.law
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn k(&self) -> usize {
        self.k
    }

    /// The stream from the first word of `attribute` on.
    fn reader(&self, attribute: usize) -> ChaCha20Rng {
        let words = (self.k * self.law.bits()).div_ceil(32);
        self.stream.at(attribute as u128 * words as u128)
    }

    pub(super) fn weights(&self, attribute: usize, out: &mut [i32]) {
        self.law.expand(&mut self.reader(attribute), out);
    }

    /// Rows of W in order, computed afresh.
    pub(super) fn for_rows(&self, attributes: Range<usize>, mut visit: impl FnMut(usize, &[i32])) {
        let mut row = vec![0; self.k];
        let mut rng = self.reader(attributes.start);
        for i in attributes {
            self.law.expand(&mut rng, &mut row);
            visit(i, &row);
        }
    }

    /// Attributes that one parallel task takes on.
    fn rows_a_task(&self) -> usize {
        (65536 / self.k).max(1)
    }

    /// W in memory, if it is small enough and worth it after `attributes` more rows of it.
    fn matrix(&self, attributes: usize) -> Option<&Matrix> {
        if !self.is_kept() {
            return None;
        }
        self.matrix.get(attributes, self.dim / 4, || match self.law {
            WeightLaw::Gaussian => Matrix::I32(self.build(|w| w)),
            WeightLaw::Uniform => Matrix::I16(self.build(|w| w as i16)),
            WeightLaw::VerySparse { .. } | WeightLaw::Rademacher => Matrix::I8(self.build(|w| w as i8)),
        })
    }

    /// True if all of W may be kept in memory.
    pub(super) fn is_kept(&self) -> bool {
        self.dim.checked_mul(self.k).is_some_and(|entries| entries <= CACHED_ENTRIES)
    }

    /// W arranged for blocks of rows, if it may be kept.
    pub(super) fn plan(&self) -> Option<&DensePlan> {
        self.is_kept().then(|| compute_once(&self.plan, || DensePlan::new(self)))
    }

    fn build<T: Copy + Default + Send>(&self, narrow: fn(i32) -> T) -> Vec<T> {
        let mut all = vec![T::default(); self.dim * self.k];
        let rows = self.rows_a_task();
        parallel::chunks(&mut all, rows * self.k, |task, chunk| {
            let first = task * rows;
            self.for_rows(first..first + chunk.len() / self.k, |i, row| {
                let to = &mut chunk[(i - first) * self.k..][..self.k];
                to.iter_mut().zip(row).for_each(|(to, &w)| *to = narrow(w));
            });
        });
        all
    }

    pub(super) fn prepare(&self) {
        self.matrix(self.dim);
    }

    /// `out += W^T q`. The caller has checked that no sum can leave 63 bits.
    pub(super) fn apply(&self, row: PrivateRow<'_>, out: &mut [i64]) {
        match self.matrix(row.entries().count()) {
            Some(Matrix::I8(all)) => self.apply_cached(all, row, out),
            Some(Matrix::I16(all)) => self.apply_cached(all, row, out),
            Some(Matrix::I32(all)) => self.apply_cached(all, row, out),
            None => {
                let mut weights = vec![0; self.k];
                let mut reader = None;
                for (i, q) in row.entries() {
                    // A reader that has just left row i - 1 stands at row i: seeking would expand blocks twice.
                    let mut rng = match reader.take() {
                        Some((next, rng)) if next == i => rng,
                        _ => self.reader(i),
                    };
                    self.law.expand(&mut rng, &mut weights);
                    add_scaled(out, &weights, q);
                    reader = Some((i + 1, rng));
                }
            }
        }
    }

    fn apply_cached<T: Copy + Into<i64>>(&self, all: &[T], row: PrivateRow<'_>, out: &mut [i64]) {
        for (i, q) in row.entries() {
            add_scaled(out, &all[i * self.k..][..self.k], q);
        }
    }

    pub(super) fn extremes(&self) -> &Extremes {
        compute_once(&self.extremes, || {
            let none = || Extremes { norm1: 0, squared_norm2: 0, per_output: vec![0; self.k] };
            let rows = self.rows_a_task();
            let tasks = self.dim.div_ceil(rows);
            let look = |mut extremes: Extremes, task: usize| {
                let first = task * rows;
                self.for_rows(first..(first + rows).min(self.dim), |_, row| extremes.take_in(row));
                extremes
            };
            parallel::fold(tasks, none, look, Extremes::merge)
        })
    }

    pub(super) fn operator_norm_upper(&self) -> f64 {
        *compute_once(&self.operator_norm, || spectral::operator_norm_upper(self))
    }
}

impl Extremes {
    fn take_in(&mut self, row: &[i32]) {
        // k <= 2^24 entries below 2^20: neither sum leaves 64 bits.
        let (mut norm1, mut squared_norm2) = (0, 0);
        for (w, most) in row.iter().map(|w| w.unsigned_abs()).zip(&mut self.per_output) {
            norm1 += u64::from(w);
            squared_norm2 += u64::from(w) * u64::from(w);
            *most = w.max(*most);
        }
        self.norm1 = self.norm1.max(norm1);
        self.squared_norm2 = self.squared_norm2.max(u128::from(squared_norm2));
    }

    fn merge(mut self, other: Self) -> Self {
        self.norm1 = self.norm1.max(other.norm1);
        self.squared_norm2 = self.squared_norm2.max(other.squared_norm2);
        self.per_output.iter_mut().zip(other.per_output).for_each(|(a, b)| *a = b.max(*a));
        self
    }
}

/// `out_j += w_j q`, wrapping so that the compiler may vectorise; the bound was checked before.
#[inline]
fn add_scaled<T: Copy + Into<i64>>(out: &mut [i64], weights: &[T], q: i64) {
    for (x, &w) in out.iter_mut().zip(weights) {
        *x = x.wrapping_add(w.into().wrapping_mul(q));
    }
}
