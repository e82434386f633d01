//! What the world may be told where only statistics leave a trusted collector: the epsilon amplified by shuffling.
//!
//! Feldman, McMillan and Talwar, "Hiding among the clones" (FOCS 2021), Theorem 3.2 computed numerically. If every report
//! is epsilon0-private for ANY two inputs, each other report is, with probability e^-epsilon0, a clone of one of the two
//! neighbours' reports, either with equal chance. The multiset then tells no more about one person than the pair
//!   `(A + D, C - A + 1 - D)` against `(A + 1 - D, C - A + D)`,
//! `C ~ Bin(n - 1, e^-epsilon0)`, `A ~ Bin(C, 1/2)`, `D ~ Bernoulli(e^epsilon0 / (1 + e^epsilon0))`. The later bound of
//! the same authors has an erratum and is not used. Every step rounds up: sums have positive terms only, clones are
//! counted from the lowest of a block, what is cut off is added, and [`SLACK`] is far above the error of the arithmetic.

use crate::error::{LibraryError, NotAmplified, NotPrivate, StatisticsError};
use crate::release::Release;
use num_bigint::BigUint;
use scumble_core::exact::ln_upper;
use scumble_core::mechanism::{Perturbation, Side};
use scumble_core::noise::{FlipTable, SymbolTable};
use scumble_core::privacy::{Unit, check_delta};
use scumble_core::projection::Projection;
use serde::Serialize;

/// A guarantee about published statistics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Amplified {
    /// Rounded up.
    pub epsilon: f64,
    /// As asked for.
    pub delta: f64,
    /// What one released coordinate (or whole record) guarantees by itself, for any two inputs.
    pub local_epsilon: f64,
    /// Reports that hide each other.
    pub reports: u64,
    /// Coordinates that a change of the unit reaches: their losses are added up.
    pub coordinates: u64,
    /// True if statistics may use whole rows; else the coordinates of a row must not be linked.
    pub rows_may_be_linked: bool,
    /// The theorem.
    pub theorem: String,
    /// What it rests on beyond what is checked, in plain sentences.
    pub conditions: Vec<String>,
}

/// Relative margin on delta.
const SLACK: f64 = 1e-3;

/// Blocks that the number of clones is cut into.
const BLOCKS: u64 = 300;

/// The most reports: beyond it the sums take too long.
const MOST_REPORTS: u64 = 1 << 36;

/// The smallest epsilon that the bound gives for `reports` reports of `local` epsilon each at `delta`, rounded up to four
/// digits; never above `local`.
pub fn amplified_epsilon(local: f64, reports: u64, delta: f64) -> Result<f64, StatisticsError> {
    if !(local > 0.0 && local.is_finite()) || reports == 0 || reports > MOST_REPORTS {
        return Err(StatisticsError::Shuffle);
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(StatisticsError::ShuffleDelta { delta });
    }
    let clones = Clones::new(local, reports, delta);
    let (mut low, mut high) = (0.0, local);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if clones.delta(middle) > delta { low = middle } else { high = middle }
    }
    Ok(rounded_up(high).min(local))
}

/// Four significant digits, upward.
fn rounded_up(x: f64) -> f64 {
    let unit = 10f64.powi(x.log10().floor() as i32 - 3);
    (x / unit).ceil() * unit
}

/// The law of the number of clones, in blocks: the lowest number of a block and the probability of all of it.
struct Clones {
    local: f64,
    blocks: Vec<(u64, f64)>,
    cut_off: f64,
}

impl Clones {
    fn new(local: f64, reports: u64, delta: f64) -> Self {
        let (n, p) = (reports - 1, libm::exp(-local));
        let mode = (((n + 1) as f64 * p) as u64).min(n);
        let (at_mode, odds) = (libm::exp(ln_binomial(n, mode, p)), p / (1.0 - p));
        let least = delta * 1e-9 / (n + 1) as f64;
        // Downward and upward from the mode until what is left cannot matter: tails fall faster than their last term.
        let mut below = vec![];
        let (mut c, mut weight) = (mode, at_mode);
        while c > 0 && weight > least {
            weight *= c as f64 / ((n - c + 1) as f64 * odds);
            c -= 1;
            below.push((c, weight));
        }
        let mut law: Vec<(u64, f64)> = below.into_iter().rev().collect();
        let lost = if c > 0 { weight * n as f64 } else { 0.0 };
        law.push((mode, at_mode));
        let (mut c, mut weight) = (mode, at_mode);
        while c < n && weight > least {
            weight *= (n - c) as f64 * odds / (c + 1) as f64;
            c += 1;
            law.push((c, weight));
        }
        let size = law.len().div_ceil(BLOCKS as usize);
        let mut blocks: Vec<(u64, f64)> =
            law.chunks(size).map(|block| (block[0].0, block.iter().map(|(_, weight)| weight).sum())).collect();
        // More clones than the last block has hide at least as well as it does.
        blocks.last_mut().expect("the mode").1 += weight * n as f64;
        Self { local, blocks, cut_off: lost }
    }

    /// An upper bound on delta at `epsilon`.
    fn delta(&self, epsilon: f64) -> f64 {
        // With more clones one can make fewer: delta falls with their number, so the lowest of a block stands for all.
        let sum: f64 = self.blocks.iter().map(|&(c, weight)| weight * delta_given(c, self.local, epsilon)).sum();
        sum * (1.0 + SLACK) + self.cut_off
    }
}

/// The hockey-stick divergence of the pair for `c` clones: the sum over a of `[P(a) - e^epsilon Q(a)]_+`, with
/// `P(a) = q b(a-1) + (1-q) b(a)`, `Q(a) = (1-q) b(a-1) + q b(a)`, b binomial of c halves. P/Q rises with a.
fn delta_given(c: u64, local: f64, epsilon: f64) -> f64 {
    let (q, growth) = (1.0 / (1.0 + libm::exp(-local)), libm::exp(epsilon));
    let (gain, loss) = (q - growth * (1.0 - q), growth * q - (1.0 - q));
    if gain <= 0.0 {
        return 0.0;
    }
    // Positive where b(a-1)/b(a) = a/(c-a+1) is above loss/gain.
    let ratio = loss / gain;
    let first = ((ratio / (1.0 + ratio) * (c + 1) as f64).floor() as u64).max(1);
    let mut sum = 0.0;
    let mut before = libm::exp(ln_binomial(c, (first - 1).min(c), 0.5)); // b(a-1)
    for a in first..=c + 1 {
        let here = before * (c + 1 - a) as f64 / a as f64; // b(a), 0 at c + 1
        let term = gain * before - loss * here;
        sum += term.max(0.0);
        if a as f64 > 0.5 * c as f64 && before * (c + 1) as f64 <= 1e-6 * sum {
            return sum + before * (c + 1) as f64; // what is left, at most
        }
        before = here;
    }
    sum
}

/// ln of the binomial probability, by Loader's saddle point: no digits are lost for large n.
fn ln_binomial(n: u64, k: u64, p: f64) -> f64 {
    let (n, k) = (n as f64, k as f64);
    if k == 0.0 {
        return n * libm::log1p(-p);
    }
    if k == n {
        return n * libm::log(p);
    }
    // k ln(k/np) + np - k
    let deviance = |k: f64, mean: f64| {
        let x = (k - mean) / mean;
        if x.abs() < 1e-3 {
            let term =
                |power: i32| x.powi(power) / f64::from(power * (power - 1)) * if power % 2 == 0 { 1.0 } else { -1.0 };
            return mean * (2..9).map(term).sum::<f64>();
        }
        k * libm::log(k / mean) + mean - k
    };
    let correction = |x: f64| {
        if x < 16.0 {
            return libm::lgamma(x + 1.0) - ((x + 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln());
        }
        let square = x * x;
        (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0) / square) / square) / x
    };
    let spread = 0.5 * (n / (2.0 * std::f64::consts::PI * k * (n - k))).ln();
    spread + correction(n) - correction(k) - correction(n - k) - deviance(k, n * p) - deviance(n - k, n * (1.0 - p))
}

/// The amplified guarantee of statistics of a release, or why there is none.
pub fn amplify(release: &Release, delta: f64) -> Result<Amplified, LibraryError> {
    let delta = check_delta(delta)?;
    let mechanism = release.mechanism();
    let refuse = |why| LibraryError::from(NotPrivate::NotAmplified { why });
    let guarantee = mechanism.promise().guarantee().ok_or_else(|| refuse(NotAmplified::NoGuarantee))?;
    if guarantee.delta > 0.0 {
        return Err(refuse(NotAmplified::Delta));
    }
    let unit = guarantee.unit;
    let local = any_two_inputs(release).ok_or_else(|| refuse(NotAmplified::Unbounded))?;
    let linked = match mechanism.perturbation() {
        Perturbation::Cap(_) => true, // one draw for all coordinates
        Perturbation::Noise { .. }
        | Perturbation::NoisySign { .. }
        | Perturbation::Flips { .. }
        | Perturbation::Symbols { .. }
        | Perturbation::Individual { .. } => false,
    };
    let coordinates = match unit {
        Unit::Record if linked => 1,
        Unit::Attribute => touched(mechanism.projection(), release.k()),
        Unit::Record | Unit::L1 | Unit::L2 => release.k() as u64,
    };
    // What the certificate promises is for neighbours; the clones need it for any two values.
    if local * coordinates as f64 > guarantee.epsilon * (1.0 + 1e-9) {
        let epsilon = guarantee.epsilon;
        return Err(refuse(NotAmplified::NeighboursOnly { mechanism: mechanism.id(), epsilon, local }));
    }
    let each = amplified_epsilon(local, release.len() as u64, delta / coordinates as f64)?;
    let mut conditions = vec![
        "each person has one row in this release, and in no other that is published".to_owned(),
        "only statistics of the multiset leave the collector: no row, no order, no id".into(),
        "the collector is trusted; to the collector itself each report has its local guarantee only".into(),
    ];
    if !linked {
        conditions.push("no statistic links coordinates of a row: means and shares only".into());
    }
    Ok(Amplified {
        epsilon: rounded_up(each * coordinates as f64).min(guarantee.epsilon),
        delta,
        local_epsilon: local,
        reports: release.len() as u64,
        coordinates,
        rows_may_be_linked: linked || release.k() == 1,
        theorem:
            "Feldman, McMillan, Talwar: Hiding among the clones (FOCS 2021), Theorem 3.2, computed numerically and \
                  rounded up"
                .into(),
        conditions,
    })
}

/// Coordinates that one attribute enters.
fn touched(projection: &Projection, k: usize) -> u64 {
    projection.entries(0).map_or(k as u64, |entries| entries.len() as u64)
}

/// An upper bound on the loss between any two private values of one coordinate, or of any two records.
fn any_two_inputs(release: &Release) -> Option<f64> {
    let mechanism = release.mechanism();
    let largest = mechanism.projection().bound(mechanism.grid().largest());
    match mechanism.perturbation() {
        Perturbation::Cap(cap) => Some(cap.worst_ratio().epsilon()),
        Perturbation::Noise { clip, radius: None, noise, shift: 0 } => {
            let (lo, hi) = mechanism.grid().bounds();
            let span = match clip {
                Some(clip) => 2 * u64::try_from(*clip).ok()?,
                None if mechanism.id().is_raw() => hi.abs_diff(lo).into(),
                None => u64::try_from(2 * largest).ok()?,
            };
            Some(noise.worst_ratio(span.max(1))?.epsilon())
        }
        Perturbation::Flips { steps, table, side } => {
            let least_step = steps.iter().copied().min()?.max(1);
            let beyond = match side {
                Side::CoinAtZero => 0,
                Side::Above(b) => b.unsigned_abs(),
            };
            let highest = u64::try_from(largest).ok()?.saturating_add(beyond) / least_step + 1;
            Some(flips(table, highest))
        }
        Perturbation::Symbols { table, .. } => Some(symbols(table)),
        Perturbation::Noise { .. } | Perturbation::NoisySign { .. } | Perturbation::Individual { .. } => None,
    }
}

/// Flip rates fall with the level: the rarest flip, kept over flipped.
fn flips(table: &FlipTable, highest: u64) -> f64 {
    let rarest = table.thresholds().iter().copied().chain([table.threshold(highest)]);
    let rarest = rarest.take(usize::try_from(highest).unwrap_or(usize::MAX).saturating_add(1)).min().unwrap_or(1);
    let kept = (BigUint::from(1u8) << 64u32) - rarest;
    ln_upper(&kept, &rarest.into())
}

/// The largest ratio within a column, over all classes.
fn symbols(table: &SymbolTable) -> f64 {
    let column = |y: usize| table.rows().iter().map(move |row| row[y]);
    let loss = |y: usize| {
        let (most, least) = (column(y).max().unwrap_or(1), column(y).min().unwrap_or(1));
        ln_upper(&most.into(), &least.into())
    };
    (0..table.symbols()).map(loss).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures that the specification gives, two to three digits.
    #[test]
    fn known_values() {
        for (reports, local, known) in [
            (10_000, 2.0, 0.155),
            (10_000, 3.0, 0.321),
            (10_000, 4.0, 0.601),
            (10_000, 5.0, 1.15),
            (100_000, 2.0, 0.045),
            (100_000, 3.0, 0.093),
            (100_000, 4.0, 0.170),
            (100_000, 5.0, 0.299),
        ] {
            let found = amplified_epsilon(local, reports, 1e-6).unwrap();
            assert!((found / known - 1.0).abs() < 0.015, "{reports} {local}: {found} against {known}");
        }
    }

    fn binomial(n: u64, p: f64) -> Vec<f64> {
        let mut law = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; law.len() + 1];
            for (at, weight) in law.iter().enumerate() {
                next[at] += weight * (1.0 - p);
                next[at + 1] += weight * p;
            }
            law = next;
        }
        law
    }

    fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            b.iter().enumerate().for_each(|(j, y)| out[i + j] += x * y);
        }
        out
    }

    /// The exact curve of shuffled randomized response, over every number of ones among the others.
    fn exact_delta(local: f64, reports: u64, epsilon: f64) -> f64 {
        let flip = 1.0 / (1.0 + local.exp());
        let mut worst: f64 = 0.0;
        for ones in 0..reports {
            let others = convolved(&binomial(ones, 1.0 - flip), &binomial(reports - 1 - ones, flip));
            let (zero, one) = (convolved(&others, &[1.0 - flip, flip]), convolved(&others, &[flip, 1.0 - flip]));
            let divergence =
                |p: &[f64], q: &[f64]| -> f64 { p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum() };
            worst = worst.max(divergence(&zero, &one)).max(divergence(&one, &zero));
        }
        worst
    }

    #[test]
    fn never_below_the_exact_curve_of_shuffled_randomized_response() {
        for reports in [1, 2, 3, 10, 40, 150] {
            for local in [0.3, 1.0, 2.0, 4.0] {
                for delta in [1e-2, 1e-4, 1e-7] {
                    let claimed = amplified_epsilon(local, reports, delta).unwrap();
                    let exact = exact_delta(local, reports, claimed);
                    assert!(exact <= delta, "{reports} reports, {local}: {exact} at {claimed}");
                }
            }
        }
        // Planted fault: half the clones more than the theorem allows would claim too little.
        let wrong = amplified_epsilon(1.0, 150 * 100, 1e-2).unwrap();
        assert!(exact_delta(1.0, 150, wrong) > 1e-2);
    }

    #[test]
    fn more_reports_hide_better_and_nothing_exceeds_the_local_epsilon() {
        let at = |reports| amplified_epsilon(3.0, reports, 1e-6).unwrap();
        let all: Vec<f64> = [1, 100, 10_000, 1_000_000, 100_000_000].map(at).to_vec();
        assert!(all.windows(2).all(|pair| pair[1] <= pair[0]), "{all:?}");
        assert_eq!(all[0], 3.0);
        assert!(amplified_epsilon(0.0, 5, 1e-6).is_err() && amplified_epsilon(1.0, 0, 1e-6).is_err());
        assert!(amplified_epsilon(1.0, 5, 0.0).is_err());
    }

    #[test]
    fn binomial_logarithms_equal_the_products() {
        for (n, p) in [(1, 0.3), (12, 0.5), (200, 0.1)] {
            for (k, weight) in binomial(n, p).iter().enumerate() {
                let found = ln_binomial(n, k as u64, p);
                assert!((found - weight.ln()).abs() < 1e-10 * (1.0 + found.abs()), "{n} {k}");
            }
        }
    }
}
