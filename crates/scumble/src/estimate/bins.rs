//! Estimates from bins of a public partition: of the pooled rows, with a bound on what pooling has lost.
//!
//! `n_b` attributes of bin b, `m_b = x_b/n_b` their mean with the bin's signs, `s2`, `m4` the noise's moments. `Pu` has the
//! inner product `sum x_b y_b / n_b`. Values of a bin lie in a public interval `[L_b, H_b]`, so by Bhatia and Davis
//! `|u-Pu|^2 <= sum n_b (H_b - m_b)(m_b - L_b)`: quadratic in m_b, so that its estimate is debiased exactly.

use super::{Constants, Estimate, RowRef};
use crate::release::Release;

/// One-sided 98.75% quantile of the normal law: two such bounds and one tail of an interval together fail in 5%.
const Z_LOST: f64 = 2.241_402_727_604_947;

/// A row in bins.
pub(super) struct Pooled {
    cells: Vec<Cell>,
    /// Upper bound (98.75%) on `|u-Pu|^2`.
    lost: f64,
}

/// One bin of a row.
#[derive(Clone, Copy)]
struct Cell {
    x: f64,
    n: f64,
    s2: f64,
    m4: f64,
}

impl Pooled {
    /// The row with these released values; `None` without a public partition.
    pub(super) fn new(release: &Release, values: &[f64], constants: &Constants) -> Option<Self> {
        let mechanism = release.mechanism();
        let signs = mechanism.projection().bin_signs()?;
        let (lo, hi) = (mechanism.parameters().range.lo, mechanism.parameters().range.hi);
        let (mut cells, mut lost, mut variance, mut most) = (Vec::new(), 0.0, 0.0, 0.0);
        for (&[minus, plus], &x) in signs.iter().zip(values) {
            let cell = Cell { x, n: (minus + plus) as f64, s2: constants.s2, m4: constants.m4 };
            let low = if plus > 0 { lo } else { f64::INFINITY }.min(if minus > 0 { -hi } else { f64::INFINITY });
            let high =
                if plus > 0 { hi } else { f64::NEG_INFINITY }.max(if minus > 0 { -lo } else { f64::NEG_INFINITY });
            let mean = x / cell.n;
            lost += cell.n * ((high - mean) * (mean - low) + cell.s2 / (cell.n * cell.n));
            variance += (high + low - 2.0 * mean).powi(2) * cell.s2 + (cell.m4 - cell.s2 * cell.s2) / (cell.n * cell.n);
            most += cell.n * (high - low).powi(2) / 4.0;
            cells.push(cell);
        }
        Some(Self { cells, lost: (lost + Z_LOST * variance.sqrt()).clamp(0.0, most) })
    }

    /// Two rows of the same bins; `None` without a public partition.
    pub(super) fn pair(a: RowRef<'_>, b: RowRef<'_>, ca: &Constants, cb: &Constants) -> Option<(Self, Self)> {
        let pooled = |row: RowRef<'_>, constants| Self::new(row.release, &row.values(), constants);
        pooled(a, ca).zip(pooled(b, cb))
    }

    /// `Pu.Pv`, within `|u-Pu| |v-Pv|` of `u.v`.
    pub(super) fn inner_product(&self, other: &Self) -> Estimate {
        let (mut value, mut variance) = (0.0, 0.0);
        for (a, b) in self.cells.iter().zip(&other.cells) {
            value += a.x * b.x / a.n;
            // s2' x^2 + s2 y^2 of the true values, whose noisy squares are too large by s2 and s2'.
            variance += (b.s2 * a.x * a.x + a.s2 * b.x * b.x - a.s2 * b.s2) / (a.n * a.n);
        }
        let bias = (self.lost * other.lost).sqrt();
        widened(Estimate::new(value, variance.max(0.0)), bias, bias)
    }

    /// `|Pu|^2`, short of `|u|^2` by at most `|u-Pu|^2`.
    pub(super) fn squared_norm(&self) -> Estimate {
        let (value, variance) = squares(self.cells.iter().copied());
        widened(Estimate::new(value, variance), 0.0, self.lost)
    }

    /// `|Pu-Pv|^2`, short of `|u-v|^2` by at most `(|u-Pu| + |v-Pv|)^2`.
    pub(super) fn squared_distance(&self, other: &Self) -> Estimate {
        let difference = |(a, b): (&Cell, &Cell)| Cell {
            x: a.x - b.x,
            n: a.n,
            s2: a.s2 + b.s2,
            m4: a.m4 + b.m4 + 6.0 * a.s2 * b.s2,
        };
        let (value, variance) = squares(self.cells.iter().zip(&other.cells).map(difference));
        widened(Estimate::new(value, variance), 0.0, (self.lost.sqrt() + other.lost.sqrt()).powi(2))
    }
}

/// `sum x_b^2 / n_b` without its noise, and its variance.
fn squares(cells: impl Iterator<Item = Cell>) -> (f64, f64) {
    cells.fold((0.0, 0.0), |(value, variance), Cell { x, n, s2, m4 }| {
        let square = x * x - s2;
        (value + square / n, variance + (4.0 * s2 * square.max(0.0) + m4 - s2 * s2) / (n * n))
    })
}

/// The interval with room for what pooling has lost.
fn widened(estimate: Estimate, below: f64, above: f64) -> Estimate {
    let (from, to) = estimate.interval;
    Estimate { interval: (from - below, to + above), bias: Some(above), ..estimate }
}
