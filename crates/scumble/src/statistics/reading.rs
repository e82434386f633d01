//! What one released coordinate tells: a value with noise of known variance, or a symbol drawn from a known table.

use crate::estimate::value_noise;
use crate::release::{Encoding, Release};
use scumble_core::mechanism::{Cap, Moments, Perturbation, Side};
use scumble_core::noise::FlipTable;

/// A coordinate as `x + n`: `factor` times its decoded value, the noise's moments known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    pub factor: f64,
    pub noise: Moments,
    /// The values are signs: their squares tell nothing.
    pub signs: bool,
    /// The most that a report can hold, after the factor, either way.
    pub largest: f64,
}

/// Symbols drawn from a table that can be undone: `scores[class][symbol]` is unbiased for "the row is in this class".
#[derive(Debug, Clone)]
pub(super) struct Classes {
    pub scores: Vec<Vec<f64>>,
    /// A class at the border (a zero that a fair coin decides) counts half on both sides.
    pub halves: bool,
}

/// More codes than this at the end of their range, and values beyond it are missed.
const MOST_CUT_OFF: f64 = 1e-3;

/// Values with known noise, or why there are none.
pub(super) fn values(release: &Release) -> Result<Values, String> {
    let mechanism = release.mechanism();
    match mechanism.perturbation() {
        Perturbation::Noise { .. } => {
            let encoding = release.encoder().encoding();
            if encoding == Encoding::B1 {
                return Err(
                    "one bit of a noisy value is left, and how often it is wrong depends on the private value".into()
                );
            }
            let cut_off = share_cut_off(release);
            if cut_off > MOST_CUT_OFF {
                return Err(format!(
                    "{:.1}% of the codes lie at the end of what {encoding} can hold, so values beyond it are cut off by an \
                     unknown amount; release as f32 or i16",
                    100.0 * cut_off
                ));
            }
            let noise = value_noise(release).expect("noise mechanisms have moments");
            let largest = release.encoder().largest_value();
            Ok(Values { factor: 1.0, noise, signs: false, largest })
        }
        Perturbation::Flips { .. } => {
            let kept = 1.0 - 2.0 * flip_rate(release)?;
            let variance = 1.0 / (kept * kept) - 1.0;
            let noise = Moments { variance, fourth: f64::NAN }; // no figure of signs asks for it
            Ok(Values { factor: 1.0 / kept, noise, signs: true, largest: 1.0 / kept })
        }
        Perturbation::Symbols { .. } => Err("the release holds symbols, not values: see the share of each zone".into()),
        Perturbation::Cap(cap) => Err(of_records(cap).into()),
        Perturbation::NoisySign { .. } | Perturbation::Individual { .. } => Err(WRONG.into()),
    }
}

/// Why a mechanism for whole records tells no figure.
fn of_records(cap: &Cap) -> &'static str {
    match cap {
        Cap::Privcube(_) | Cap::Signcap(_) => VERTEX,
        Cap::Privbook(_) => WORD,
    }
}

const VERTEX: &str = "each row is one vertex that agrees with the whole record: the mean of a released bit is nearly, not \
    exactly, in proportion to the record's, and the error does not shrink with more rows; train on the release instead";
const WORD: &str = "each row names one word of a public book, one of many that are near the record, or any other: how often a \
    word is named is not how often it is the nearest; search the release or train on it instead";
const WRONG: &str = "how often a released bit is wrong depends on the private value itself";

/// Codes at either end of their range, as a share of all.
fn share_cut_off(release: &Release) -> f64 {
    let Some((low, high)) = release.encoder().code_range() else { return 0.0 };
    let (mut codes, mut cut) = (vec![0; release.k()], 0usize);
    for row in 0..release.len() {
        release.encoder().codes(release.row(row), &mut codes);
        cut += codes.iter().filter(|&&code| code <= low || code >= high).count();
    }
    cut as f64 / (release.len() * release.k()).max(1) as f64
}

/// The flip rate, if it is the same for every private value.
fn flip_rate(release: &Release) -> Result<f64, String> {
    let mechanism = release.mechanism();
    let Perturbation::Flips { steps, table, side } = mechanism.perturbation() else { return Err(WRONG.into()) };
    let largest = mechanism.projection().bound(mechanism.grid().largest());
    let largest = u64::try_from(largest).unwrap_or(u64::MAX);
    let threshold = match side {
        Side::CoinAtZero => 0,
        Side::Above(b) => b.unsigned_abs(),
    };
    let least_step = steps.iter().copied().min().unwrap_or(1).max(1);
    let highest = largest.saturating_add(threshold) / least_step + 1;
    let same = |table: &FlipTable| table.threshold(1) == table.threshold(highest);
    if !same(table) {
        return Err(format!(
            "{WRONG}: {} flips bits far from zero less often; dp-signoporp-rr and dp-signrp-rr flip all alike",
            mechanism.id()
        ));
    }
    Ok(table.threshold(1) as f64 / 2f64.powi(64))
}

/// A table of symbols that can be undone, or why there is none.
pub(super) fn classes(release: &Release) -> Result<Classes, String> {
    match release.mechanism().perturbation() {
        Perturbation::Flips { side, .. } => {
            let flip = flip_rate(release)?;
            let (right, wrong) = ((1.0 - flip) / (1.0 - 2.0 * flip), -flip / (1.0 - 2.0 * flip));
            Ok(Classes {
                scores: vec![vec![right, wrong], vec![wrong, right]],
                halves: *side == Side::CoinAtZero,
            })
        }
        Perturbation::Symbols { table, .. } if table.rows().len() == table.symbols() => {
            let whole = 2f64.powi(table.bits() as i32);
            let law: Vec<Vec<f64>> =
                table.rows().iter().map(|row| row.iter().map(|&entry| entry as f64 / whole).collect()).collect();
            inverse(&law)
                .map(|scores| Classes { scores, halves: false })
                .ok_or_else(|| "two zones have the same law, so no count tells them apart".into())
        }
        Perturbation::Symbols { .. } => Err(
            "the symbols come from more classes of private values than there are symbols, so shares are not identifiable; \
             dp-oporp-zones tells them"
                .into(),
        ),
        Perturbation::Noise { .. } => Err("the release holds values, not bits or symbols: see the means".into()),
        Perturbation::Cap(cap) => Err(of_records(cap).into()),
        Perturbation::NoisySign { .. } | Perturbation::Individual { .. } => Err(WRONG.into()),
    }
}

/// `scores[class][symbol]` with `sum over symbols of law[c'][symbol] scores[c][symbol] = [c = c']`; `None` if singular.
fn inverse(law: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = law.len();
    // Gauss-Jordan with row pivots on [law | 1]: then row i of the right half is row i of the inverse.
    let unit = |i: usize| (0..n).map(move |j| f64::from(u8::from(i == j)));
    let mut rows: Vec<Vec<f64>> =
        law.iter().enumerate().map(|(i, row)| row.iter().copied().chain(unit(i)).collect()).collect();
    for at in 0..n {
        let pivot = (at..n).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs()))?;
        rows.swap(at, pivot);
        let size = rows[at][at];
        if size.abs() < 1e-9 {
            return None;
        }
        rows[at].iter_mut().for_each(|x| *x /= size);
        let pivot = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != at) {
            let times = row[at];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= times * p);
        }
    }
    // law . inverse = 1, so the scores of class c are column c of the inverse.
    Some((0..n).map(|c| (0..n).map(|symbol| rows[symbol][n + c]).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_undo_their_table() {
        let law = vec![vec![0.7, 0.2, 0.1], vec![0.1, 0.8, 0.1], vec![0.15, 0.15, 0.7]];
        let scores = inverse(&law).unwrap();
        for (c, scores) in scores.iter().enumerate() {
            for (other, law) in law.iter().enumerate() {
                let mean: f64 = law.iter().zip(scores).map(|(p, s)| p * s).sum();
                assert!((mean - f64::from(u8::from(c == other))).abs() < 1e-12);
            }
        }
        assert!(inverse(&[vec![0.5, 0.5], vec![0.5, 0.5]]).is_none());
    }
}
