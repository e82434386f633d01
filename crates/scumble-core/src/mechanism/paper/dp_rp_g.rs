//! DP-RP-G and DP-RP-G-OPT: publish `x~ = (Wᵀu + G)/√k`, W Gaussian (or uniform, very sparse), G Gaussian.
//!
//! \[LL23\] Algorithm 1 with the noise of Theorem 3.1 (`dp-rp-g`), Theorem 3.4 (`dp-rp-g-analytic`) and Theorem 3.5
//! (`dp-rp-g-opt`). Symbols: `W` p x k public · `Δ₂ = β max_i ‖W_i‖₂/√k` realised · `σ` noise · `ε`, `δ`.
//! Departures: W is fixed-point and its fraction is rounded away before the noise (less than one step per coordinate,
//! counted in Δ₂); the noise is an integer; the sensitivity is always the realised one, and `dp-rp-g-analytic` adds
//! whichever is larger, its own σ or the least one that the realised Δ₂ needs. `x` stays unscaled; 1/√k comes after.
//! Holds for: attribute, l1, l2 (operator norm), record (clipped to a radius); for every W.

use crate::error::ParameterError;
use crate::mechanism::MechanismId;
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::gaussian::{Sigma, gaussian};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let (allowed, sigma): (&[&str], _) = match setup.parameters.mechanism {
        MechanismId::DpRpGOpt => (&["gaussian", "uniform", "very-sparse", "rademacher"], Sigma::Optimal),
        MechanismId::DpRpGAnalytic => (&["gaussian"], Sigma::Analytic),
        _ => (&["gaussian"], Sigma::Kenthapadi),
    };
    let w = setup.projection(allowed)?; // line 1: x = Wᵀu
    // line 2: Δ₂ of the matrix that is really used
    // line 3: G, with σ of Theorem 3.1, 3.4 or 3.5
    // line 4: x~ = x + G
    gaussian(setup, w, (setup.parameters.k as f64).sqrt(), sigma)
}
