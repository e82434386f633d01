//! DP-RP-G-OPT-B: publish `x~ = (Wᵀu + G)/√k`, W Rademacher, G optimal Gaussian noise; and the signs of it.
//!
//! \[LL23\] Algorithm 3, and the first paragraph of section 4 (`sign-dp-rp-g-opt-b`). Symbols: `W` p x k of ±1 ·
//! `Δ₂ = β` exactly (every row of W has norm √k) · `σ*` of Theorem 3.5 · `ε`, `δ`.
//! Departures: the noise is an integer. The sign of zero is minus: post-processing may choose.
//! Holds for: attribute, l1, l2 (operator norm), record (clipped to a radius); for every W.

use crate::error::ParameterError;
use crate::mechanism::{MechanismId, Parts, parameters::Setup, perturbation::Perturbation};
use crate::privacy::{Promise, Unit};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    let projection = setup.projection(&["rademacher"])?;
    let sign = setup.parameters.mechanism == MechanismId::SignDpRpGOptB;
    if sign {
        setup.allow_units(&[Unit::Attribute, Unit::L1], "only its values are offered for that unit")?;
    }
    let grid = setup.gaussian_grid(setup.relative_sigma()?, (setup.parameters.k as f64).sqrt())?;
    // |W_i|₂ = √k for every i: Δ₂ = B √k in unscaled steps, β after the scaling.
    let delta_2 = setup.delta_2(&projection, &grid, 0)?;
    let noise = setup.optimal_gaussian(delta_2)?; // line 3: σ*
    let radius = match setup.parameters.unit {
        Unit::Record => Some(setup.radius(&projection, &grid, 0)?),
        _ => None,
    };
    let perturbation = if sign {
        Perturbation::NoisySign { noise }
    } else {
        Perturbation::Noise { shift: 0, clip: None, radius, noise }
    };
    Ok(Parts { grid, projection, perturbation, promise: Promise::Private(setup.approximate()?) })
}
