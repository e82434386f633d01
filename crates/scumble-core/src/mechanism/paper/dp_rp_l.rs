//! DP-RP-L: publish `x~ = (Wᵀu + n)/√k`, n discrete Laplace.
//!
//! \[LL23\] Algorithm 2. Symbols: `W` p x k public · `Δ₁ = β max_i ‖W_i‖₁/√k` realised · `ε`.
//! Departures: the sensitivity is realised, never the high-probability bound of Lemma 3.7 (which would make the
//! guarantee approximate); the noise is an integer.
//! Holds for: attribute, l1; pure.

use crate::error::ParameterError;
use crate::mechanism::{Parts, parameters::Setup, recipe::pure_noise};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    // One attribute enters every coordinate: Δ₁ is the largest row sum of |W|.
    pure_noise::laplace(setup, setup.projection(&["gaussian", "uniform", "very-sparse", "rademacher"])?)
}
