//! DP-OPORP: publish `x~ = OPORP(u) + n`, n Gaussian (the paper), discrete Laplace or discrete staircase (ours).
//!
//! \[LL23\] Algorithms 4 and 5; the staircase of \[GV15\]. Symbols: `u` private, p integers on the grid · `β` the most one
//! attribute may move, `B` grid steps of it · `k` bins, `t` repetitions · `ε`, `δ`.
//! Departures: values outside the public range are clipped; the noise is an integer; bins may have unequal sizes; with
//! Laplace and staircase noise the bins may be clipped to a public `c` first.
//! Holds for: Gaussian: attribute, l1, l2, record (clipped). Laplace: attribute, l1. Staircase: attribute.

use crate::error::ParameterError;
use crate::mechanism::{MechanismId, Parts, parameters::Setup, perturbation::Perturbation, recipe::pure_noise};
use crate::privacy::{Promise, Unit};

pub(crate) fn new(setup: &Setup<'_>) -> Result<Parts, ParameterError> {
    // One attribute enters one bin of each repetition with weight ±1: Δ₁ = tB, Δ₂ = √t B.
    let projection = setup.projection(&["oporp"])?;
    match setup.parameters.mechanism {
        MechanismId::DpOporpLaplace => pure_noise::laplace(setup, projection),
        MechanismId::DpOporpStaircase => pure_noise::staircase(setup, projection),
        _ => {
            let grid = setup.gaussian_grid(setup.relative_sigma()?, (setup.parameters.repeats as f64).sqrt())?;
            let delta_2 = setup.delta_2(&projection, &grid, 0)?;
            let radius = match setup.parameters.unit {
                Unit::Record => Some(setup.radius(&projection, &grid, 0)?),
                _ => None,
            };
            let noise = setup.optimal_gaussian(delta_2)?; // Algorithm 5, line 3: σ*
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
