//! The best private bit: publish, for each bin of OPORP, whether `x > b`, flipped by the ceil rule.
//!
//! Ours, on \[LL23\] Algorithm 8. Symbols: `x` bin sums, unscaled integers · `B` grid steps of β · `b` public threshold ·
//! `j = ⌈(x-b)/B⌉`, level `L = j` on the plus side and `1-j` on the minus side · flip `e^{-(L-1)ε/t}/(1+e^{ε/t})`.
//! Zero, and everything up to b, is on the minus side: no coin, which keeps the difference between empty and positive
//! bins. ⌈·⌉ commutes with shifts, so neighbours have |j-j'| ≤ 1, and each step changes either probability by e^{ε/t}.
//! Holds for: one attribute moving by at most β. Not l1: eight touched bins cost 8ε.

use crate::error::{MechanismError, ParameterError};
use crate::mechanism::Side;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::{Recipe, flips};
use crate::noise::FlipTable;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    flips::per_bin(setup, FlipTable::ceil_rule, |grid| {
        Ok(Side::Above(match setup.parameters.thresholds[..] {
            [] => 0,
            [b] if b >= 0.0 && b < 1e15 * grid.step() => (b / grid.step()).floor() as i64, // x > b is q > ⌊b/g⌋
            _ => return Err(MechanismError::OneThreshold.into()),
        }))
    })
}
