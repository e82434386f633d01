//! DP-SignRP by the ceil rule: publish the signs of `Wᵀu`, flipped with `e^{-(L-1)ε'}/(1+e^{ε'})`.
//!
//! Ours, on \[LL23\] Algorithm 7. Symbols: `x_j = Wᵀu`, unscaled integers · `B_j = B max_i |W_ij|` · `L_j = ⌈|x_j|/B_j⌉` ·
//! `ε' = ε/k`, or the k-fold optimal composition of Kairouz, Oh and Viswanath when δ is given.
//! Better than the paper's rule at every level from 2 on. A fair coin where x_j = 0.
//! Holds for: attribute and l1, every W; pure, or (ε, δ).

use crate::calibration::composition::kov_epsilon0;
use crate::error::ParameterError;
use crate::exact;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::flips;
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    if setup.parameters.delta.is_none() {
        return flips::per_output(setup, FlipTable::ceil_rule);
    }
    let delta = setup.parameters.needed_delta()?;
    let each = kov_epsilon0(setup.parameters.k as u64, setup.epsilon.value(), delta)?;
    let table = FlipTable::ceil_rule(&exact::rational(each))?;
    let guarantee = flips::composed(setup, &table)?;
    flips::dense(setup, table, guarantee)
}
