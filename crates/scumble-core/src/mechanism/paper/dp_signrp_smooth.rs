//! DP-SignRP with flips that fade: publish the signs of `Wᵀu`, flipped with probability falling in the level `L_j`.
//!
//! \[LL23\] Algorithm 7 (`dp-signrp-rr-smooth`), and the ceil rule (`dp-signrp-ceil`, ours). Symbols: `x_j = Wᵀu`,
//! unscaled integers · `B_j = B max_i |W_ij|` · `L_j = ⌈|x_j|/B_j⌉` · `ε' = ε/k`, or the k-fold optimal composition of
//! Kairouz, Oh and Viswanath when δ is given (ceil only).
//! Departures: the paper's Algorithm 7 compares scaled x with an unscaled threshold, which wastes the smoothness; here
//! both are unscaled. The coin at zero is the paper's.
//! Holds for: attribute and l1 (every coordinate moves by at most B_j in either), every W.

use crate::calibration::composition::kov_epsilon0;
use crate::error::ParameterError;
use crate::exact;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::perturbation::{Perturbation, Side};
use crate::mechanism::{MechanismId, Parts};
use crate::noise::FlipTable;
use crate::privacy::{Promise, Unit, check_delta};
use crate::projection::Projection;
use crate::vectors::Grid;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    setup.allow_units(&[Unit::Attribute, Unit::L1], "a larger move can change every sign")?;
    let projection = setup.projection(&["gaussian", "uniform", "very-sparse", "rademacher"])?;
    let grid = setup.grid(STEPS)?;
    let k = setup.parameters.k;
    let each = setup.epsilon.exact() / num_bigint::BigInt::from(k);
    let steps = steps_per_output(setup, &projection, &grid);
    let (table, promise) = match (setup.parameters.mechanism, setup.parameters.delta) {
        (MechanismId::DpSignrpCeil, Some(_)) => {
            let delta = check_delta(setup.parameters.delta)?;
            let epsilon0 = kov_epsilon0(k as u64, setup.epsilon.value(), delta)?;
            let table = FlipTable::ceil_rule(&exact::rational(epsilon0))?;
            check_kov(setup, &table, delta)?;
            (table, setup.approximate()?)
        }
        (id, _) => {
            let table = match id {
                MechanismId::DpSignrpCeil => FlipTable::ceil_rule(&each)?,
                _ => FlipTable::smooth(&each)?,
            };
            let checked = table.worst_ratio().repeated(k as u64).epsilon(); // basic composition over k bits
            (table, setup.pure(checked))
        }
    };
    let perturbation = Perturbation::Flips { steps, table, side: Side::CoinAtZero };
    Ok(Parts { grid, projection, perturbation, promise: Promise::Private(promise) })
}

/// `B_j = B max_i |W_ij|`: how far one unit moves coordinate j. A coordinate that nothing enters needs no protection.
pub(crate) fn steps_per_output(setup: &Setup<'_>, projection: &Projection, grid: &Grid) -> Vec<u64> {
    let moved = setup.steps_l1(grid);
    projection.max_abs_per_output().iter().map(|&w| (moved * u64::from(w)).max(1)).collect()
}

/// The k-fold composition of the table's own worst bit, in exact integers: `delta(epsilon) <= delta`.
///
/// With odds `n/d` of one bit, `delta = sum_l C(k,l) [n^{k-l} d^l - e^epsilon n^l d^{k-l}]_+ / (n+d)^k`.
pub(crate) fn check_kov(setup: &Setup<'_>, table: &FlipTable, delta: f64) -> Result<(), ParameterError> {
    let worst = table.worst_ratio();
    let shown = exact::composed_delta_upper(&worst.num, &worst.den, setup.parameters.k as u64, setup.epsilon.exact());
    if shown > exact::rational(delta) {
        return Err(ParameterError::invalid(format!("could not show delta <= {delta:e} for k composed bits")));
    }
    Ok(())
}
