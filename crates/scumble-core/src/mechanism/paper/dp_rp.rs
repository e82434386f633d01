//! DP-RP with Gaussian noise: publish `x~ = (Wᵀu + G)/√k`, W Gaussian (or uniform, very sparse), G Gaussian.
//!
//! \[LL23\] Algorithm 1 with the noise of Theorem 3.1 (`dp-rp-g`), Theorem 3.4 (`dp-rp-g-analytic`) and Theorem 3.5
//! (`dp-rp-g-opt`). Symbols: `W` p x k public · `Δ₂ = β max_i ‖W_i‖₂/√k` realised · `σ` noise · `ε`, `δ`.
//! Departures: W is fixed-point and its fraction is rounded away before the noise (less than one step a coordinate,
//! counted in Δ₂); the noise is an integer; the sensitivity is always the realised one, and `dp-rp-g-analytic` adds
//! whichever is larger, its own σ or the least one that the realised Δ₂ needs.
//! Holds for: attribute, l1, l2 (operator norm), record (clipped to a radius); for every W.

use crate::calibration::gaussian;
use crate::error::ParameterError;
use crate::mechanism::recipe::pure_noise::fraction_bits;
use crate::mechanism::{MechanismId, Parts, parameters::Setup, perturbation::Perturbation};
use crate::privacy::{Promise, Unit, check_delta};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    let id = setup.parameters.mechanism;
    let allowed: &[&str] = match id {
        MechanismId::DpRpGOpt => &["gaussian", "uniform", "very-sparse", "rademacher"],
        _ => &["gaussian"],
    };
    let projection = setup.projection(allowed)?;
    let (epsilon, delta) = (setup.epsilon.value(), check_delta(setup.parameters.delta)?);
    let k = setup.parameters.k;
    let grid = setup.gaussian_grid(setup.relative_sigma()?, (k as f64).sqrt())?;
    let shift = fraction_bits(&projection);
    let delta_2 = setup.delta_2(&projection, &grid, shift)?; // line 2: Δ₂, of the matrix that is really used
    let noise = match id {
        MechanismId::DpRpG => {
            // Theorem 3.1: σ = Δ₂ √(2(ln(1/δ)+ε))/ε, never below σ*.
            setup.checked_gaussian(gaussian::sigma_kenthapadi(epsilon, delta, delta_2)?, delta_2, delta)?
        }
        MechanismId::DpRpGAnalytic => {
            if setup.parameters.unit != Unit::Attribute {
                return Err(ParameterError::not_private(
                    "dp-rp-g-analytic bounds the sensitivity of one attribute only",
                    "dp-rp-g-opt, whose sensitivity is realised",
                ));
            }
            // Theorem 3.4, in steps of the unscaled projection: the √k of Δ₂ is not divided out here.
            let steps = setup.steps_l1(&grid) as f64 * (k as f64).sqrt();
            let analytic = gaussian::sigma_analytic(epsilon, delta, setup.parameters.dim as u64, k as u64, steps)?;
            let least = gaussian::sigma_optimal(epsilon, delta * (1.0 - 1e-6), delta_2)? * (1.0 + 1e-12);
            setup.checked_gaussian(analytic.max(least), delta_2, delta)?
        }
        _ => setup.optimal_gaussian(delta_2)?, // Theorem 3.5
    };
    let radius = match setup.parameters.unit {
        Unit::Record => Some(setup.radius(&projection, &grid, shift)?),
        _ => None,
    };
    let promise = Promise::Private(setup.approximate()?);
    Ok(Parts { grid, projection, perturbation: Perturbation::Noise { shift, clip: None, radius, noise }, promise })
}
