//! DP-SignRP-RR-smooth: publish the signs of `Wᵀu`, flipped with a probability that falls with the level `L_j`.
//!
//! \[LL23\] Algorithm 7. Symbols: `x_j = Wᵀu`, unscaled integers · `B_j = B max_i |W_ij|` · `L_j = ⌈|x_j|/B_j⌉` · `ε_j' =
//! L_j ε/k`.
//! Departures: the paper's line 2 compares scaled x with an unscaled threshold, which wastes the smoothness; here both
//! are unscaled. Flip probabilities are integers over 2^64, rounded toward more flips.
//! Holds for: attribute and l1 (every coordinate moves by at most B_j in either), every W; pure.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::flips;
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // line 1: x = Wᵀu
    // line 2: L_j, from B_j per output
    // line 3: s~_j, flipped with 1/(1 + e^{L_j ε/k}); a fair coin where x_j = 0
    // line 4: s~
    flips::per_output(setup, FlipTable::smooth)
}
