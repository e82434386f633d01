//! DP-RP-G-OPT-B: publish `x~ = (Wᵀu + G)/√k`, W Rademacher, G optimal Gaussian noise; and the signs of it.
//!
//! \[LL23\] Algorithm 3, and the first paragraph of section 4 (`sign-dp-rp-g-opt-b`). Symbols: `W` p x k of ±1 ·
//! `Δ₂ = β` exactly (every row of W has norm √k) · `σ*` of Theorem 3.5 · `ε`, `δ`.
//! Departures: the noise is an integer. The sign of zero is minus: post-processing may choose.
//! Holds for: attribute, l1, l2 (operator norm), record (clipped to a radius); for every W. Signs: attribute, l1.

use crate::error::{NoProof, ParameterError};
use crate::mechanism::parameters::Setup;
use crate::mechanism::recipe::Recipe;
use crate::mechanism::recipe::gaussian::{Sigma, gaussian};
use crate::mechanism::{MechanismId, Perturbation};
use crate::privacy::Unit;

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    let sign = setup.parameters.mechanism == MechanismId::SignDpRpGOptB;
    if sign {
        setup.allow_units(&[Unit::Attribute, Unit::L1], NoProof::ValuesOnly)?;
    }
    let w = setup.projection(&["rademacher"])?; // line 1: x = Wᵀu
    // line 2: G, with σ* of Theorem 3.5. |W_i|₂ = √k for every i: Δ₂ = B√k in unscaled steps, β after the scaling
    // line 3: x~ = x + G
    let values = gaussian(setup, w, (setup.parameters.k as f64).sqrt(), Sigma::Optimal)?;
    Ok(match values.perturbation {
        Perturbation::Noise { noise, .. } if sign => {
            Recipe { perturbation: Perturbation::NoisySign { noise }, ..values } // section 4: sign(x~)
        }
        Perturbation::Noise { .. }
        | Perturbation::NoisySign { .. }
        | Perturbation::Flips { .. }
        | Perturbation::Cap(_)
        | Perturbation::Symbols { .. }
        | Perturbation::Individual { .. } => values,
    })
}
