//! Publish `x~ = x + n`, n discrete Laplace: pure, for any projection.
//!
//! Holds for: attribute and l1. `P(n) ∝ a^|n|`, so a move of `x` by `d` in l1 changes the odds of every output by at
//! most `a^-d`, and `a^-Δ₁ ≤ e^ε` is checked in integers.

use super::Recipe;
use super::sensitivity::{fraction_bits, sketch_clip, too_large};
use crate::error::{NoProof, ParameterError};
use crate::mechanism::Perturbation;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::noise::{Laplace, Noise};
use crate::privacy::{Promise, Unit};
use crate::projection::Projection;

pub(crate) fn laplace(setup: &Setup<'_>, projection: Projection) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute, Unit::L1], NoProof::AbsoluteDifferences)?;
    // The noise has a standard deviation of √2 B/ε steps per unit of weight: keep it at 8 steps or more.
    let grid = setup.grid(STEPS.max((6.0 * setup.epsilon.value()) as u64))?;
    let (clip, shift) = (sketch_clip(setup, &projection, &grid)?, fraction_bits(&projection));
    // Δ₁ = B max_i |W_i|₁ / 2^shift, and rounding the fraction away moves each of k coordinates by less than one more.
    let moved = u128::from(setup.steps_l1(&grid)?);
    let norm1 = u128::from(projection.max_norm1());
    let rounding = if shift == 0 { 0 } else { projection.k() as u128 };
    let full = moved.checked_mul(norm1).map(|moved| moved.div_ceil(1 << shift) + rounding).ok_or_else(too_large)?;
    // With a clip c no touched coordinate moves by more than 2c; how many are touched is known for one attribute only.
    let sensitivity = match (clip, setup.parameters.unit) {
        (Some(c), Unit::Attribute) => full.min(2 * u128::from(c.unsigned_abs()) * norm1),
        (_, Unit::Attribute | Unit::L1 | Unit::L2 | Unit::Record) => full,
    };
    let sensitivity = u64::try_from(sensitivity).map_err(|_| too_large())?;
    let noise = Laplace::new(sensitivity, setup.epsilon.exact())?;
    let promise = Promise::Private(setup.pure(&noise.worst_ratio(sensitivity))?);
    let perturbation = Perturbation::Noise { shift, clip, radius: None, noise: Noise::Laplace(noise) };
    Ok(Recipe { grid, projection, perturbation, promise })
}
