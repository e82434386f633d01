//! DP-OPORP with staircase noise, our flagship: publish `x~ = OPORP(u) + n`, n discrete staircase.
//!
//! Ours, on \[LL23\] Algorithm 4 with the noise of \[GV15\]. Symbols: `u` private, p integers on the grid · `β` the most
//! one attribute may move, `B` grid steps of it · `k` bins, `t` repetitions · `c` public clip · `ε`.
//! Departures from Algorithm 5: staircase in place of Gaussian noise, which needs no δ and is 3 times smaller at ε = 1,
//! 6 times at 5 and 19 times at 10; bins may be clipped to a public `c` first.
//! Holds for: one attribute moving by at most β; pure. Not l1: eight touched bins cost 8ε.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::staircase::staircase;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let oporp = setup.projection(&["oporp"])?; // x = OPORP(u), clipped to [-c, c] if asked
    // One attribute enters one bin of each repetition with weight ±1, so B (or 2c) and ε/t for each.
    staircase(setup, oporp) // x~ = x + n
}
