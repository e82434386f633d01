//! The best private bit: publish, for each bin of OPORP, whether `x > b`, flipped by the ceil rule.
//!
//! Ours, on \[LL23\] Algorithm 8. Symbols: `x` bin sums, unscaled integers · `B` grid steps of β · `b` public threshold ·
//! `j = ⌈(x-b)/B⌉`, level `L = j` on the plus side and `1-j` on the minus side · flip `e^{-(L-1)ε/t}/(1+e^{ε/t})`.
//! Zero, and everything up to b, is on the minus side: no coin, which keeps the difference between empty and positive
//! bins. ⌈·⌉ commutes with shifts, so neighbours have |j-j'| ≤ 1, and each step changes either probability by e^{ε/t}.
//! Holds for: one attribute moving by at most β. Not l1: eight touched bins cost 8ε.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::{Recipe, flips};
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let projection = setup.projection(&["oporp"])?;
    flips::per_bin(setup, projection, FlipTable::ceil_rule, |grid| flips::above(setup, grid, 0.0))
}
