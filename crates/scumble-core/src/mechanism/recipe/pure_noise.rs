//! Pure noise on a projection: discrete Laplace (any projection) and staircase (one touched bin a repetition).

use crate::calibration::{Ratio, staircase};
use crate::error::ParameterError;
use crate::mechanism::{
    Parts,
    parameters::{STEPS, Setup},
    perturbation::Perturbation,
};
use crate::noise::{Laplace, Noise, Staircase};
use crate::privacy::{Promise, Unit};
use crate::projection::Projection;
use crate::vectors::Grid;

/// `x~ = x + n`, n discrete Laplace of scale Δ₁/ε.
pub(crate) fn laplace(setup: &Setup<'_>, projection: Projection) -> Result<Parts, ParameterError> {
    setup.allow_units(&[Unit::Attribute, Unit::L1], "Laplace noise follows the sum of absolute differences")?;
    // The noise has a standard deviation of √2 B/ε steps a unit of weight: keep it at 8 steps or more.
    let grid = setup.grid(STEPS.max((6.0 * setup.epsilon.value()) as u64))?;
    let (clip, shift) = (sketch_clip(setup, &projection, &grid)?, fraction_bits(&projection));
    // Δ₁ = B max_i |W_i|₁ / 2^shift, and rounding the fraction away moves each of k coordinates by less than one more.
    let moved = setup.steps_l1(&grid);
    let full = (u128::from(moved) * u128::from(projection.max_norm1())).div_ceil(1 << shift);
    let full = u64::try_from(full).map_err(|_| ParameterError::invalid("beta is too many grid steps"))?
        + if shift == 0 { 0 } else { projection.k() as u64 };
    // With a clip c no touched coordinate moves by more than 2c; how many are touched is known for one attribute only.
    let sensitivity = match (clip, setup.parameters.unit) {
        (Some(c), Unit::Attribute) => full.min(2 * c as u64 * projection.max_norm1()),
        _ => full,
    };
    let noise = Laplace::new(sensitivity, setup.epsilon.exact())?; // checks a^-Δ₁ ≤ e^ε in integers
    let promise = Promise::Private(setup.pure(noise.worst_ratio(sensitivity).epsilon()));
    let perturbation = Perturbation::Noise { shift, clip, radius: None, noise: Noise::Laplace(noise) };
    Ok(Parts { grid, projection, perturbation, promise })
}

/// `x~ = x + n`, n discrete staircase: each of t repetitions has one touched bin and spends ε/t.
pub(crate) fn staircase(setup: &Setup<'_>, projection: Projection) -> Result<Parts, ParameterError> {
    setup.allow_units(
        &[Unit::Attribute],
        "staircase noise protects a single moved coordinate; several small moves can cost epsilon each",
    )?;
    let t = setup.parameters.repeats as f64;
    // Standard deviation about e^{-ε/3} β at large ε: keep it at several steps, up to a grid of 2^20.
    let ratio = Ratio::from_exponent(setup.epsilon.value() / t);
    let spread = staircase::continuous_variance(ratio, staircase::optimal_gamma(ratio), 1.0).sqrt();
    let grid = setup.grid(STEPS.max((6.0 / spread).min(1048576.0) as u64))?;
    let clip = sketch_clip(setup, &projection, &grid)?;
    // One attribute enters one bin with weight ±1: B, or 2c after the clip.
    let moved = setup.steps_l1(&grid);
    let sensitivity = clip.map_or(moved, |c| moved.min(2 * c as u64));
    let each = setup.epsilon.exact() / num_bigint::BigInt::from(setup.parameters.repeats);
    let noise = Staircase::least_variance(sensitivity, &each)?; // checks P(n)/P(n+m) ≤ e^{ε/t}, |m| ≤ B
    let promise = Promise::Private(
        setup.pure(noise.worst_ratio(sensitivity).repeated(setup.parameters.repeats as u64).epsilon()),
    );
    let perturbation = Perturbation::Noise { shift: 0, clip, radius: None, noise: Noise::Staircase(noise) };
    Ok(Parts { grid, projection, perturbation, promise })
}

/// The public sketch clip in steps of the projected integers, which are not scaled by the repetitions.
fn sketch_clip(setup: &Setup<'_>, projection: &Projection, grid: &Grid) -> Result<Option<i64>, ParameterError> {
    let Some(clip) = setup.parameters.sketch_clip else { return Ok(None) };
    if projection.is_dense_matrix() {
        return Err(ParameterError::invalid(
            "--sketch-clip is for OPORP and raw data, where one attribute enters one bin",
        ));
    }
    let steps = clip / grid.step();
    if !(clip > 0.0 && steps < 1e15) {
        return Err(ParameterError::invalid(format!("--sketch-clip must be positive and finite, got {clip}")));
    }
    Ok(Some((steps.round() as i64).max(1)))
}

/// Fraction bits of the integer weights, rounded away before noise so that the noise table stays small.
pub(crate) fn fraction_bits(projection: &Projection) -> u32 {
    use crate::projection::ProjectionKind::*;
    match projection.kind() {
        Gaussian => 16,
        Uniform => 7,
        Identity | VerySparse { .. } | Rademacher | Oporp { .. } => 0,
    }
}
