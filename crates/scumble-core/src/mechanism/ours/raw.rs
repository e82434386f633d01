//! Raw data plus noise: publish `u~ = u + n`, all p attributes, no projection.
//!
//! \[LL23\] section 3.6, "Raw-data-G-OPT", and the same with Laplace and staircase noise (ours). Symbols: `u` private, p
//! integers on the grid · `β` the most one attribute may move, `B` grid steps of it · `ε`, `δ`.
//! Departures: values outside the public range are clipped; the noise is an integer.
//! Holds for: Gaussian: attribute, l1, l2, record (clipped to a radius). Laplace: attribute, l1. Staircase: attribute.

use crate::error::ParameterError;
use crate::mechanism::recipe::pure_noise::{laplace, staircase};
use crate::mechanism::{MechanismId, Parts, parameters::Setup, perturbation::Perturbation};
use crate::privacy::{Promise, Unit};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    // One attribute enters one coordinate with weight 1: Δ₁ = Δ₂ = B.
    let projection = setup.projection(&["none"])?;
    match setup.parameters.mechanism {
        MechanismId::RawLaplace => laplace(setup, projection),
        MechanismId::RawStaircase => staircase(setup, projection),
        _ => {
            let grid = setup.gaussian_grid(setup.relative_sigma()?, 1.0)?;
            let delta_2 = setup.delta_2(&projection, &grid, 0)?;
            let radius = match setup.parameters.unit {
                Unit::Record => Some(setup.radius(&projection, &grid, 0)?),
                _ => None,
            };
            let noise = setup.optimal_gaussian(delta_2)?; // Theorem 3.5
            let promise = Promise::Private(setup.approximate()?);
            Ok(Parts {
                grid,
                projection,
                perturbation: Perturbation::Noise { shift: 0, clip: None, radius, noise },
                promise,
            })
        }
    }
}
