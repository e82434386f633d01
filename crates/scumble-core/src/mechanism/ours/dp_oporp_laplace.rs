//! DP-OPORP with Laplace noise: publish `x~ = OPORP(u) + n`, n discrete Laplace.
//!
//! Ours, on \[LL23\] Algorithm 4. Symbols: `u` private, p integers on the grid · `B` grid steps of β · `k` bins, `t`
//! repetitions · `c` public clip · `ε`.
//! The paper dismissed Laplace noise, rightly for dense projections, where Δ₁ = √k β. In OPORP one attribute touches
//! one bin, so here Δ₁ = β, and pure noise beats Gaussian at every epsilon in use.
//! Holds for: attribute, l1; pure.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::laplace::laplace;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    // One attribute enters one bin of each repetition with weight ±1: Δ₁ = tB, at most 2tc after the clip.
    laplace(setup, setup.projection(&["oporp"])?)
}
