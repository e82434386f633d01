//! Publish `x~ = x + n`, n discrete staircase \[GV15\]: pure, where one attribute touches one coordinate.
//!
//! Holds for: attribute. A staircase is flat over B steps and then falls by e^-ε, so a move by at most B crosses at most
//! one edge: `P(n) ≤ e^ε P(n+m)` for |m| ≤ B, checked in integers. Several touched coordinates pay ε each, which is why
//! it is not for l1 and why each of t repetitions spends ε/t.

use super::Recipe;
use super::sensitivity::sketch_clip;
use crate::calibration::{Ratio, staircase};
use crate::error::{NoProof, ParameterError};
use crate::mechanism::Perturbation;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::noise::{Noise, Staircase};
use crate::privacy::{Promise, Unit};
use crate::projection::Projection;

pub(crate) fn staircase(setup: &Setup<'_>, projection: Projection) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute], NoProof::SingleCoordinate)?;
    // Standard deviation about e^{-ε/3} β at large ε: keep it at several steps, up to a grid of 2^20.
    let ratio = Ratio::from_exponent(setup.epsilon.value() / setup.parameters.repeats as f64);
    let spread = staircase::continuous_variance(ratio, staircase::optimal_gamma(ratio), 1.0).sqrt();
    let grid = setup.grid(STEPS.max((6.0 / spread).min(1048576.0) as u64))?;
    let clip = sketch_clip(setup, &projection, &grid)?;
    // One attribute enters one bin of each repetition with weight ±1: B, or 2c after the clip.
    let moved = setup.steps_l1(&grid)?;
    let sensitivity = clip.map_or(moved, |c| moved.min(c.unsigned_abs().saturating_mul(2)));
    let noise = Staircase::least_variance(sensitivity, &setup.each())?;
    let promise = Promise::Private(setup.pure(&setup.in_every_repetition(noise.worst_ratio(sensitivity))?)?);
    let perturbation = Perturbation::Noise { shift: 0, clip, radius: None, noise: Noise::Staircase(noise) };
    Ok(Recipe { grid, projection, perturbation, promise })
}
