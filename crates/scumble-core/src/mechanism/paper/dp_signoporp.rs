//! DP-SignOPORP: publish one bit a bin of OPORP, flipped by randomized response (RR, smooth) or by the ceil rule (ours).
//!
//! \[LL23\] Algorithm 8. Symbols: `x_j` bin sums, unscaled integers · `B` grid steps of β · `t` repetitions · `ε` ·
//! `L_j = ⌈|x_j|/B⌉`. Flips: RR `1/(1+e^{ε/t})`, smooth `1/(1+e^{L_j ε/t})`, ceil `e^{-(L-1)ε/t}/(1+e^{ε/t})`.
//! Departures: flip probabilities are integers over 2^64, rounded toward more flips. `dp-signoporp-ceil` puts zero (and
//! everything up to a public threshold b) on the minus side instead of tossing a fair coin, which keeps the difference
//! between empty and positive bins.
//! Holds for: one attribute moving by at most β. Not l1: eight touched bins cost 8ε.

use crate::error::ParameterError;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::mechanism::perturbation::{Perturbation, Side};
use crate::mechanism::{MechanismId, Parts};
use crate::noise::FlipTable;
use crate::privacy::{Promise, Unit};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    setup.allow_units(&[Unit::Attribute], "one attribute touches one bin; g touched bins cost g epsilon")?;
    let projection = setup.projection(&["oporp"])?;
    let grid = setup.grid(STEPS)?;
    let b_steps = setup.steps_l1(&grid);
    // One attribute touches one bin of each of t repetitions: ε/t for each.
    let each = setup.epsilon.exact() / num_bigint::BigInt::from(setup.parameters.repeats);
    let (table, side) = match setup.parameters.mechanism {
        MechanismId::DpSignoporpRr => (FlipTable::randomized_response(&each)?, Side::CoinAtZero),
        MechanismId::DpSignoporpRrSmooth => (FlipTable::smooth(&each)?, Side::CoinAtZero),
        _ => {
            let threshold = match setup.parameters.thresholds[..] {
                [] => 0,
                [b] if b >= 0.0 && b < 1e15 * grid.step() => (b / grid.step()).floor() as i64, // x > b is q > ⌊b/g⌋
                _ => return Err(ParameterError::invalid("dp-signoporp-ceil takes one threshold b >= 0")),
            };
            (FlipTable::ceil_rule(&each)?, Side::Above(threshold))
        }
    };
    let promise = Promise::Private(setup.pure(table.worst_ratio().repeated(setup.parameters.repeats as u64).epsilon()));
    Ok(Parts { grid, projection, perturbation: Perturbation::Flips { steps: vec![b_steps], table, side }, promise })
}
