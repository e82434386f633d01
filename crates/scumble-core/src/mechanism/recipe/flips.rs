//! Publish signs, each flipped with a probability that its level `L = ⌈|x|/B⌉` decides: randomized response, smooth or
//! the ceil rule.
//!
//! Moving `x` by at most B changes the level by at most one, and a sign only between levels that touch zero, so one
//! worst ratio per bit covers every pair ([`FlipTable::worst_ratio`]). On OPORP one attribute touches one bit of each
//! repetition; under a dense projection it touches all k.

use super::Recipe;
use super::sensitivity::too_large;
use crate::error::{MechanismError, NoProof, ParameterError};
use crate::exact;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::{Perturbation, Side};
use crate::noise::FlipTable;
use crate::privacy::{Guarantee, Promise, Unit};
use crate::projection::Projection;
use crate::vectors::Grid;
use num_bigint::BigInt;
use num_rational::BigRational;

/// One bit per bin of a projection that puts each attribute into one bin of each repetition. `table` makes the rule for
/// ε/t, `side` says where its plus side begins.
pub(crate) fn per_bin(
    setup: &Setup<'_>,
    projection: Projection,
    table: impl FnOnce(&BigRational) -> Result<FlipTable, ParameterError>,
    side: impl FnOnce(&Grid) -> Result<Side, ParameterError>,
) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute], NoProof::TouchedBins)?;
    let grid = setup.grid(STEPS)?;
    let (table, side) = (table(&setup.each())?, side(&grid)?);
    let steps = vec![setup.steps_l1(&grid)?];
    let promise = Promise::Private(setup.pure(&setup.in_every_repetition(table.worst_ratio())?)?);
    Ok(Recipe { grid, projection, perturbation: Perturbation::Flips { steps, table, side }, promise })
}

/// The plus side above the public threshold `b`, which is at least `least`, or above 0: `x > b` is `q > ⌊b/g⌋`.
pub(crate) fn above(setup: &Setup<'_>, grid: &Grid, least: f64) -> Result<Side, ParameterError> {
    match setup.parameters.thresholds[..] {
        [] => Ok(Side::Above(0)),
        [b] if b >= least && b.abs() < 1e15 * grid.step() => Ok(Side::Above((b / grid.step()).floor() as i64)),
        _ => Err(MechanismError::OneThreshold { mechanism: setup.parameters.mechanism.as_str(), least }.into()),
    }
}

/// One bit per output of a dense projection, a fair coin at zero: each of k bits spends ε/k.
pub(crate) fn per_output(
    setup: &Setup<'_>,
    table: impl FnOnce(&BigRational) -> Result<FlipTable, ParameterError>,
) -> Result<Recipe, ParameterError> {
    let k = setup.parameters.k;
    let table = table(&(setup.epsilon.exact() / BigInt::from(k)))?;
    let guarantee = setup.pure(&table.worst_ratio().repeated(k as u64)?)?; // basic composition over k bits
    dense(setup, table, guarantee)
}

/// The same with a guarantee of its own.
pub(crate) fn dense(setup: &Setup<'_>, table: FlipTable, guarantee: Guarantee) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Attribute, Unit::L1], NoProof::EverySign)?;
    let projection = setup.projection(&["gaussian", "uniform", "very-sparse", "rademacher"])?;
    let grid = setup.grid(STEPS)?;
    let steps = steps_per_output(setup, &projection, &grid)?;
    let perturbation = Perturbation::Flips { steps, table, side: Side::CoinAtZero };
    Ok(Recipe { grid, projection, perturbation, promise: Promise::Private(guarantee) })
}

/// `B_j = B max_i |W_ij|`: how far one unit moves coordinate j. A coordinate that nothing enters needs no protection.
pub(crate) fn steps_per_output(
    setup: &Setup<'_>,
    projection: &Projection,
    grid: &Grid,
) -> Result<Vec<u64>, ParameterError> {
    let moved = setup.steps_l1(grid)?;
    let step = |&w: &u32| moved.checked_mul(u64::from(w)).map(|step| step.max(1)).ok_or_else(too_large);
    projection.max_abs_per_output().iter().map(step).collect()
}

/// The guarantee of k such bits by their exact composition: `delta(epsilon)` of the table's own worst bit.
///
/// With odds `n/d` of one bit, `delta = sum_l C(k,l) [n^{k-l} d^l - e^epsilon n^l d^{k-l}]_+ / (n+d)^k`.
pub(crate) fn composed(setup: &Setup<'_>, table: &FlipTable) -> Result<Guarantee, ParameterError> {
    let worst = table.worst_ratio();
    let shown = exact::composed_delta_upper(&worst.num, &worst.den, setup.parameters.k as u64, setup.epsilon.exact());
    setup.approximate(setup.parameters.needed_delta()?, &shown)
}
