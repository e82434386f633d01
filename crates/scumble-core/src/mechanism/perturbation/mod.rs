//! What is done to the projected integers: six ways, of which the last, individual DP, is not private.
//!
//! Nothing here chooses a number: the algorithm's file has fixed and checked them all before any data is read.

mod block;
mod classes;
mod probability;
mod radius;

pub(crate) use block::{BlockPerturbation, Released};
pub use classes::Classes;

use super::prior::{Posterior, Prior};
use super::record::Cap;
use crate::facts::Fact;
use crate::noise::{BlockNoise, FlipTable, KeyedStreams, Noise, SecretRng, Source, SymbolTable};
use radius::clip_to_radius;

/// Where a bit's plus side begins, and what happens on the border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The paper's rule: plus above zero, minus below, a fair coin at zero.
    CoinAtZero,
    /// Ours: plus strictly above the public threshold `b` (in grid steps), minus at or below it.
    Above(i64),
}

/// A perturbation with all its public integers.
#[derive(Debug, Clone)]
pub enum Perturbation {
    /// `x~ = round(x / 2^shift), clipped, + n`.
    Noise {
        /// Fraction bits of the weights that are rounded away before the noise.
        shift: u32,
        /// Each coordinate is clipped to `[-c, c]`.
        clip: Option<i64>,
        /// The whole row is clipped to this Euclidean radius.
        radius: Option<u64>,
        /// The law of `n`.
        noise: Noise,
    },
    /// The sign of `x + n`: post-processing of the noisy values.
    NoisySign {
        /// The law of `n`.
        noise: Noise,
    },
    /// The side of `x`, flipped with a probability that depends on the level `L = ceil(|x|/B)`.
    Flips {
        /// `B_j`: how far one unit can move coordinate j (one entry: the same for all).
        steps: Vec<u64>,
        /// Flip probabilities by level.
        table: FlipTable,
        /// Which side zero is on.
        side: Side,
    },
    /// A vertex of the cube, or a word of a book, that agrees with the whole row more than chance. Bits are not independent.
    Cap(Cap),
    /// One of a few symbols, drawn from the table's row for the coordinate's class.
    Symbols {
        /// Which class a coordinate is in.
        classes: Classes,
        /// The law of the symbol in each class.
        table: SymbolTable,
    },
    /// Individual DP: only coordinates within `B_j` of zero are perturbed. Not private.
    Individual {
        /// `B_j`, as above.
        steps: Vec<u64>,
        /// The most coordinates that one attribute enters.
        touched: usize,
        /// How those coordinates are perturbed.
        inner: IndividualNoise,
    },
}

/// How the perturbed coordinates of an individual-DP release are randomised.
#[derive(Debug, Clone)]
pub enum IndividualNoise {
    /// Gaussian noise of sigma for one coordinate, times the root of how many share it, then the sign (Algorithm 9).
    Gaussian(Noise),
    /// Randomized response, by how many coordinates share epsilon (Algorithm 11).
    Flips(Vec<FlipTable>),
}

/// `round(x / 2^shift)` by floor(.. + 1/2): commutes with shifts, so it moves no more than its input, plus one.
#[inline]
pub(crate) fn round_shift(x: i64, shift: u32) -> i64 {
    if shift == 0 { x } else { ((x >> (shift - 1)) + 1) >> 1 }
}

/// The sign of `x + sqrt(shared) n`, compared in squares so that no root is taken.
fn noisy_sign(x: i64, shared: usize, noise: &Noise, rng: &mut SecretRng) -> bool {
    let mut n = [0];
    noise.add_to(&mut n, rng);
    let (x, n) = (i128::from(x), i128::from(n[0]));
    let noise_wins = n * n * shared as i128 > x * x;
    if noise_wins { n > 0 } else { x > 0 }
}

/// Level and side of a projected value.
#[inline]
pub fn level(x: i64, steps: u64, side: Side) -> (bool, u64) {
    match side {
        Side::CoinAtZero => (x > 0, x.unsigned_abs().div_ceil(steps)),
        Side::Above(b) => {
            let above = x.saturating_sub(b);
            // j = ceil((x-b)/B); level j on the plus side, 1-j on the minus side.
            if above > 0 {
                (true, above.unsigned_abs().div_ceil(steps))
            } else {
                (false, above.unsigned_abs() / steps + 1)
            }
        }
    }
}

/// Signs of the projected row, flipped by its own stream.
pub(crate) fn flip_signs(x: &mut [i64], steps: &[u64], table: &FlipTable, side: Side, streams: &mut KeyedStreams) {
    let mut row = streams.one_row();
    for (j, (v, first)) in x.iter_mut().zip(row.coins()).enumerate() {
        let (plus, level) = level(*v, step(steps, j), side);
        *v = i64::from(plus ^ table.decide(level, first, || row.more(j).next_u64()));
    }
}

/// Symbols of the projected row, drawn from its own stream.
pub(crate) fn draw_symbols(x: &mut [i64], classes: &Classes, table: &SymbolTable, streams: &mut KeyedStreams) {
    let mut row = streams.one_row();
    for (j, (v, first)) in x.iter_mut().zip(row.coins()).enumerate() {
        *v = table.decide(classes.of(*v), first, || row.more(j).next_u64()).into();
    }
}

impl Perturbation {
    /// Perturbs the projected row in place. Bits come out as 0 and 1.
    pub fn apply(&self, x: &mut [i64], rng: &mut SecretRng) {
        match self {
            Self::Noise { noise, .. } => {
                self.prepare(x);
                noise.add_to(x, rng);
            }
            Self::NoisySign { noise } => {
                noise.add_to(x, rng);
                x.iter_mut().for_each(|v| *v = i64::from(*v > 0));
            }
            Self::Flips { steps, table, side } => {
                for (j, v) in x.iter_mut().enumerate() {
                    let (plus, level) = level(*v, step(steps, j), *side);
                    *v = i64::from(plus ^ table.flip(level, rng));
                }
            }
            Self::Cap(cap) => cap.apply(x, rng),
            Self::Symbols { classes, table } => {
                x.iter_mut().for_each(|v| *v = table.draw(classes.of(*v), rng) as i64);
            }
            Self::Individual { steps, touched, inner } => {
                // Algorithm 10: the noise indicator. The set A depends on the data, which is why this is not DP.
                let near = |j: usize, v: i64| v.unsigned_abs() <= step(steps, j);
                let size = x.iter().enumerate().filter(|&(j, &v)| near(j, v)).count();
                let shared = size.min(*touched).max(1);
                for (j, v) in x.iter_mut().enumerate() {
                    let perturbed = near(j, *v);
                    *v = i64::from(match inner {
                        _ if !perturbed => *v > 0,
                        IndividualNoise::Gaussian(noise) => noisy_sign(*v, shared, noise, rng),
                        IndividualNoise::Flips(tables) => (*v > 0) ^ tables[shared - 1].flip(u64::from(*v != 0), rng),
                    });
                }
            }
        }
    }

    /// Perturbs the projected row in place from its own stream: the very draws that [`BlockPerturbation`] makes for it.
    ///
    /// `tables` are those of the noise, unless it has none.
    ///
    /// [`BlockPerturbation`]: super::BlockPerturbation
    pub(crate) fn apply_keyed(&self, x: &mut [i64], tables: Option<&BlockNoise>, streams: &mut KeyedStreams) {
        match (self, tables) {
            (Self::Noise { .. } | Self::NoisySign { .. }, Some(tables)) => {
                self.prepare(x);
                let (mut noise, mut wide) = (vec![0; x.len()], Vec::new());
                tables.fill(&mut noise, &mut wide, &mut streams.one_row());
                wide.iter().for_each(|&(j, _)| noise[j] = 0);
                x.iter_mut().zip(noise).for_each(|(x, n)| *x = x.saturating_add(n.into()));
                wide.iter().for_each(|&(j, n)| x[j] = x[j].saturating_add(n));
                if let Self::NoisySign { .. } = self {
                    x.iter_mut().for_each(|v| *v = i64::from(*v > 0));
                }
            }
            (Self::Flips { steps, table, side }, _) => flip_signs(x, steps, table, *side, streams),
            (Self::Symbols { classes, table }, _) => draw_symbols(x, classes, table, streams),
            (Self::Noise { .. } | Self::NoisySign { .. }, None) | (Self::Cap(_) | Self::Individual { .. }, _) => {
                self.apply(x, streams.whole());
            }
        }
    }

    /// The law's tables for [`Perturbation::apply_keyed`]; `None` where it has none or needs none.
    pub(crate) fn tables(&self) -> Option<BlockNoise> {
        match self {
            Self::Noise { noise, .. } | Self::NoisySign { noise } => noise.blocks(),
            Self::Flips { .. } | Self::Cap(_) | Self::Symbols { .. } | Self::Individual { .. } => None,
        }
    }

    /// The integers for the certificate.
    pub fn facts(&self) -> Fact {
        let kind = |kind: &str| ("kind", Fact::from(kind));
        Fact::Fields(match self {
            Self::Noise { shift, clip, radius, noise } => vec![
                kind("noise"),
                ("law", noise.facts()),
                ("fraction_bits_dropped", (*shift).into()),
                ("clip_steps", (*clip).into()),
                ("radius_steps", (*radius).into()),
            ],
            Self::NoisySign { noise } => vec![kind("sign-of-noise"), ("law", noise.facts())],
            Self::Flips { steps, table, side } => {
                let (zero, threshold) = match side {
                    Side::CoinAtZero => ("fair-coin", 0),
                    Side::Above(b) => ("minus", *b),
                };
                vec![
                    kind("flips"),
                    ("law", table.facts()),
                    ("steps", Fact::list(steps.iter().copied())),
                    ("zero", zero.into()),
                    ("threshold_steps", threshold.into()),
                ]
            }
            Self::Cap(cap) => return cap.facts(),
            Self::Symbols { classes, table } => {
                vec![kind("symbols"), ("law", table.facts()), ("classes", classes.facts())]
            }
            Self::Individual { steps, touched, inner } => vec![
                kind("individual"),
                ("steps", Fact::list(steps.iter().copied())),
                ("touched", (*touched).into()),
                (
                    "law",
                    match inner {
                        IndividualNoise::Gaussian(noise) => noise.facts(),
                        IndividualNoise::Flips(tables) => Fact::list(tables.iter().map(FlipTable::facts)),
                    },
                ),
            ],
        })
    }

    /// What each symbol (or bit) says about its bin under a prior; `step` is the value of one grid step. `None` for
    /// values, and for bits that are not a function of one bin.
    pub(crate) fn posterior(&self, prior: &Prior, step: f64) -> Option<Posterior> {
        let (borders, law) = match self {
            Self::Symbols { classes, table } => {
                let law = table.rows().iter().map(|row| row.iter().map(|&entry| entry as f64).collect()).collect();
                (classes.borders(), law)
            }
            Self::Flips { steps, table, side } if steps.len() == 1 => flip_law(steps[0], table, *side),
            Self::Noise { .. }
            | Self::NoisySign { .. }
            | Self::Flips { .. }
            | Self::Cap(_)
            | Self::Individual { .. } => return None,
        };
        let borders: Vec<f64> = borders.iter().map(|border| border * step).collect();
        Some(Posterior::new(prior, &prior.classes(&borders), &law))
    }

    /// The deterministic part: what the noise is added to, or the projected value itself.
    pub fn prepare(&self, x: &mut [i64]) {
        if let Self::Noise { shift, clip, radius, .. } = self {
            x.iter_mut().for_each(|v| *v = round_shift(*v, *shift));
            if let Some(c) = *clip {
                x.iter_mut().for_each(|v| *v = (*v).clamp(-c, c));
            }
            if let Some(radius) = *radius {
                clip_to_radius(x, radius);
            }
        }
    }
}

/// The law of a flipped bit by class, with the classes' borders: levels on both sides of zero or of the threshold.
fn flip_law(steps: u64, table: &FlipTable, side: Side) -> (Vec<f64>, Vec<Vec<f64>>) {
    const LEVELS: i64 = 64; // beyond it no prior has mass that counts
    let flip = |level: u64| table.threshold(level) as f64 / 2f64.powi(64);
    let row = |plus: f64| vec![1.0 - plus, plus];
    let (b, coin) = match side {
        Side::CoinAtZero => (0, true),
        Side::Above(b) => (b, false),
    };
    let border = |level: i64| b as f64 + level as f64 * steps as f64;
    let mut borders: Vec<f64> = (1 - LEVELS..0).map(border).collect();
    let mut law: Vec<Vec<f64>> = (1..=LEVELS as u64).rev().map(|level| row(flip(level))).collect();
    if coin {
        borders.push(-0.5); // the class of zero alone
        law.push(row(0.5));
    }
    borders.push(b as f64 + 0.5);
    borders.extend((1..LEVELS).map(border));
    law.extend((1..=LEVELS as u64).map(|level| row(1.0 - flip(level))));
    (borders, law)
}

/// `B_j`.
#[inline]
pub fn step(steps: &[u64], j: usize) -> u64 {
    if steps.len() == 1 { steps[0] } else { steps[j] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_commutes_with_shifts() {
        for x in -200..200 {
            assert_eq!(round_shift(x + 16, 4), round_shift(x, 4) + 1);
        }
        assert_eq!([7, 8, 24, -8, -9].map(|x| round_shift(x, 4)), [0, 1, 2, 0, -1]);
    }

    #[test]
    fn levels_of_neighbours_differ_by_at_most_one() {
        for side in [Side::CoinAtZero, Side::Above(0), Side::Above(3)] {
            for x in -60i64..60 {
                for moved in x..=x + 7 {
                    let ((plus, a), (moved_plus, b)) = (level(x, 7, side), level(moved, 7, side));
                    // Across the border both must be at the level next to it, or at the coin.
                    assert!(
                        if plus == moved_plus { a.abs_diff(b) <= 1 } else { a <= 1 && b <= 1 },
                        "{side:?} {x} {moved}"
                    );
                }
            }
        }
        assert_eq!(level(0, 7, Side::Above(0)), (false, 1));
        assert_eq!(level(0, 7, Side::CoinAtZero), (false, 0));
        assert_eq!(level(7, 7, Side::CoinAtZero), (true, 1));
        assert_eq!(level(8, 7, Side::CoinAtZero), (true, 2));
    }
}
