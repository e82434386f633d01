//! DP-RP-L: publish `x~ = (Wᵀu + L)/√k`, L discrete Laplace.
//!
//! \[LL23\] Algorithm 2. Symbols: `W` p x k public · `Δ₁ = β max_i ‖W_i‖₁/√k` realised · `ε`.
//! Departures: the sensitivity is realised, never the high-probability bound of Lemma 3.7 (which would make the
//! guarantee approximate); the noise is an integer.
//! Holds for: attribute, l1; pure.

use crate::error::ParameterError;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::laplace::laplace;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let w = setup.projection(&["gaussian", "uniform", "very-sparse", "rademacher"])?; // line 1: x = Wᵀu
    // line 2: Δ₁, the largest row sum of |W|, because one attribute enters every coordinate
    // line 3: L of scale Δ₁/ε
    // line 4: x~ = x + L
    laplace(setup, w)
}
