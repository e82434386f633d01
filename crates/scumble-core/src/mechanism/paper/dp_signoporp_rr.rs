//! DP-SignOPORP: publish one bit per bin of OPORP, flipped by randomized response (RR, smooth).
//!
//! \[LL23\] Algorithm 8. Symbols: `x_j` bin sums, unscaled integers · `B` grid steps of β · `t` repetitions · `ε` ·
//! `L_j = ⌈|x_j|/B⌉`. Flips: RR `1/(1+e^{ε/t})`, smooth `1/(1+e^{L_j ε/t})`.
//! Departures: flip probabilities are integers over 2^64, rounded toward more flips.
//! Holds for: one attribute moving by at most β. Not l1: eight touched bins cost 8ε.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::{Recipe, flips};
use crate::mechanism::{MechanismId, Side};
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let projection = setup.projection(&["oporp"])?; // line 1: x = OPORP(u)
    let rule = match setup.parameters.mechanism {
        MechanismId::DpSignoporpRr => FlipTable::randomized_response, // line 2: s~_j
        _ => FlipTable::smooth,                                       // lines 3 and 4: L_j, s~_j
    };
    // line 5: a fair coin where x_j = 0
    // line 6: s~
    flips::per_bin(setup, projection, rule, |_| Ok(Side::CoinAtZero))
}
