//! The exact law of a released coordinate, from the very integers that run. For audits and tests: it draws nothing.

use super::{IndividualNoise, Perturbation, level, step};
use crate::noise::{FlipTable, Noise};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

impl Perturbation {
    /// `P[y_j = y]` given all k projected integers `x` of the row. Coordinates are independent given `x`.
    ///
    /// # Panics
    /// For the whole-record mechanisms, whose bits are not independent.
    pub fn probability(&self, x: &[i64], j: usize, y: i64) -> BigRational {
        match self {
            Self::Cap(_) => panic!("the bits of a cap are drawn together"),
            Self::Symbols { classes, table } => {
                let row = &table.rows()[classes.of(x[j])];
                let weight = usize::try_from(y).ok().and_then(|y| row.get(y)).copied().unwrap_or(0);
                BigRational::new(BigInt::from(weight), BigInt::one() << table.bits())
            }
            Self::Noise { noise, .. } => {
                let mut prepared = x.to_vec();
                self.prepare(&mut prepared);
                noise.weight(y - prepared[j])
            }
            Self::NoisySign { noise } => bit(above(noise, -x[j]), y),
            Self::Flips { steps, table, side } => {
                let (plus, level) = level(x[j], step(steps, j), *side);
                bit(flipped(plus, table, level), y)
            }
            Self::Individual { steps, touched, inner } => {
                let near = |j: usize| x[j].unsigned_abs() <= step(steps, j);
                let shared = (0..x.len()).filter(|&j| near(j)).count().min(*touched).max(1);
                let plus = x[j] > 0;
                let certain = if plus { BigRational::one() } else { BigRational::zero() };
                bit(
                    match inner {
                        _ if !near(j) => certain,
                        IndividualNoise::Flips(tables) => flipped(plus, &tables[shared - 1], u64::from(x[j] != 0)),
                        IndividualNoise::Gaussian(noise) => {
                            // The noise decides where shared * n^2 > x^2, with the sign of n.
                            let square = i128::from(x[j]).pow(2);
                            let least =
                                (1..).find(|n| i128::from(*n).pow(2) * shared as i128 > square).expect("some n");
                            let up = above(noise, least - 1);
                            if plus { BigRational::one() - &up } else { up }
                        }
                    },
                    y,
                )
            }
        }
    }
}

fn bit(plus: BigRational, y: i64) -> BigRational {
    match y {
        1 => plus,
        0 => BigRational::one() - plus,
        _ => BigRational::zero(),
    }
}

fn flipped(plus: bool, table: &FlipTable, level: u64) -> BigRational {
    let flip = BigRational::new(BigInt::from(table.threshold(level)), BigInt::one() << 64);
    if plus { BigRational::one() - flip } else { flip }
}

/// `P[n > least]` of a law with finite support.
fn above(noise: &Noise, least: i64) -> BigRational {
    let from = if least >= 0 { least + 1 } else { -least }; // by symmetry: P[n > -m] = 1 - P[n >= m]
    let mut tail = BigRational::zero();
    for n in from.. {
        let weight = noise.weight(n);
        if weight.is_zero() {
            break;
        }
        tail += weight;
    }
    if least >= 0 { tail } else { BigRational::one() - tail }
}
