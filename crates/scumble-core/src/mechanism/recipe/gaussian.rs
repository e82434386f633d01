//! Publish `x~ = x + n`, n a rounded Gaussian: (epsilon, delta), for any projection and every unit.
//!
//! `x + round(sigma Z) = round(x + sigma Z)`: post-processing of the continuous mechanism, so its exact delta (Theorem 3.5
//! of \[LL23\], Balle and Wang) holds in any number of dimensions. Holds for: attribute, l1, l2, record (clipped).

use super::Recipe;
use super::sensitivity::{fraction_bits, too_large};
use crate::calibration::gaussian;
use crate::error::{MechanismError, ParameterError, Refusal};
use crate::exact;
use crate::mechanism::Perturbation;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::noise::{Noise, RoundedGaussian};
use crate::privacy::{Guarantee, Promise, Unit};
use crate::projection::Projection;
use crate::vectors::{Grid, power_of_two};
use num_rational::BigRational;

/// Table entries grow with sigma: the grid for Gaussian noise keeps sigma at about this many steps or fewer.
const SIGMA_STEPS: f64 = 16384.0;

/// Where sigma comes from.
#[derive(Clone, Copy)]
pub(crate) enum Sigma {
    /// Theorem 3.5: the least.
    Optimal,
    /// Theorem 3.1: Delta_2 sqrt(2(ln(1/delta)+epsilon))/epsilon.
    Kenthapadi,
    /// Theorem 3.4: a bound over the draw of W, never below the least one that the realised Delta_2 needs.
    Analytic,
}

/// The integers after dropping the fraction bits of the weights, plus noise of Delta_2 as realised by this projection.
///
/// `row_norm`: roughly the largest norm of a row of W, used only to choose the grid.
pub(crate) fn gaussian(
    setup: &Setup<'_>,
    projection: Projection,
    row_norm: f64,
    sigma: Sigma,
) -> Result<Recipe, ParameterError> {
    let grid = setup.gaussian_grid(row_norm)?;
    let shift = fraction_bits(&projection);
    let delta_2 = setup.delta_2(&projection, &grid, shift)?;
    let (noise, guarantee) = match sigma {
        Sigma::Optimal => setup.optimal_gaussian(delta_2)?,
        Sigma::Kenthapadi => {
            let (epsilon, delta) = (setup.epsilon.value(), setup.parameters.needed_delta()?);
            setup.checked_gaussian(gaussian::sigma_kenthapadi(epsilon, delta, delta_2)?, delta_2)?
        }
        Sigma::Analytic => setup.checked_gaussian(setup.analytic_sigma(&grid, delta_2)?, delta_2)?,
    };
    let radius = match setup.parameters.unit {
        Unit::Record => Some(setup.radius(&projection, &grid, shift)?),
        Unit::Attribute | Unit::L1 | Unit::L2 => None,
    };
    let perturbation = Perturbation::Noise { shift, clip: None, radius, noise };
    Ok(Recipe { grid, projection, perturbation, promise: Promise::Private(guarantee) })
}

impl Setup<'_> {
    /// The grid for Gaussian noise on a projection whose rows have about this norm.
    pub fn gaussian_grid(&self, row_norm: f64) -> Result<Grid, ParameterError> {
        let relative = gaussian::sigma_optimal(self.epsilon.value(), self.parameters.needed_delta()?, 1.0)?;
        self.grid((SIGMA_STEPS / (relative * row_norm)).clamp(32.0, STEPS as f64) as u64)
    }

    /// `Delta_2` of the integer projection after dropping `shift` fraction bits, in steps, rounded up.
    ///
    /// attribute, l1: the largest row norm carries it, by convexity. l2: the operator norm; each of p attributes may in
    /// addition cross a rounding threshold. record: two points of a ball of the clip radius.
    pub fn delta_2(&self, projection: &Projection, grid: &Grid, shift: u32) -> Result<f64, ParameterError> {
        let scale = power_of_two(-(shift as i32));
        // Rounding the fraction bits away moves each of k coordinates by less than one more step.
        let rounding = if shift == 0 { 0.0 } else { (projection.k() as f64).sqrt() };
        let up = 1.0 + 1e-12; // covers the rounding of the few float operations here
        Ok(match self.parameters.unit {
            Unit::Attribute | Unit::L1 => {
                let norm = (projection.max_squared_norm2() as f64).sqrt();
                (self.steps_l1(grid)? as f64 * norm * scale + rounding) * up
            }
            Unit::L2 => {
                let moved = self.beta / grid.step() + (projection.dim() as f64).sqrt();
                (moved * projection.operator_norm_upper() * scale + rounding) * up
            }
            Unit::Record => 2.0 * self.radius(projection, grid, shift)? as f64,
        })
    }

    /// The clip radius of unit `record` in steps of the projected integers.
    pub fn radius(&self, projection: &Projection, grid: &Grid, shift: u32) -> Result<u64, ParameterError> {
        let norm = self.parameters.clip_norm.ok_or(MechanismError::NoClipNorm)?;
        let radius = norm / (projection.sketch_unit() * power_of_two(shift as i32) * grid.step());
        if !(1.0..1e15).contains(&radius) {
            return Err(MechanismError::ClipNorm { clip_norm: norm }.into());
        }
        Ok(radius as u64)
    }

    /// Theorem 3.4, in steps of the unscaled projection: the sqrt(k) of Delta_2 is not divided out here.
    fn analytic_sigma(&self, grid: &Grid, delta_2: f64) -> Result<f64, ParameterError> {
        if self.parameters.unit != Unit::Attribute {
            return Err(Refusal::AnalyticUnit.into());
        }
        let (epsilon, delta) = (self.epsilon.value(), self.parameters.needed_delta()?);
        let (p, k) = (self.parameters.dim as u64, self.parameters.k as u64);
        let analytic = gaussian::sigma_analytic(epsilon, delta, p, k, self.steps_l1(grid)? as f64 * (k as f64).sqrt())?;
        let least = gaussian::sigma_optimal(epsilon, delta * (1.0 - 1e-6), delta_2)? * (1.0 + 1e-12);
        Ok(analytic.max(least))
    }

    /// The rounded Gaussian at `sigma` steps, with the delta that is proven for it in exact arithmetic.
    ///
    /// The continuous mechanism's own delta, and `(1+e^epsilon) k eta` for the table's distance eta from that law.
    pub fn checked_gaussian(&self, sigma: f64, delta_2: f64) -> Result<(Noise, Guarantee), ParameterError> {
        if !(sigma.is_finite() && delta_2.is_finite()) {
            return Err(too_large());
        }
        let delta = self.parameters.needed_delta()?;
        let (epsilon, k) = (self.epsilon.value(), self.parameters.k as f64);
        // Precision such that the table's share of delta is below delta * 2^-24.
        let bits = 24.0 + 24.0 + epsilon * std::f64::consts::LOG2_E + k.log2() - delta.log2();
        let noise = RoundedGaussian::new(&exact::rational(sigma), bits.max(96.0).ceil() as u32)?;
        let mu = exact::rational(delta_2) / exact::rational(sigma);
        let continuous = exact::gaussian_delta_upper(self.epsilon.exact(), &mu, 160 + bits as u32);
        let e = BigRational::new(exact::exp_ceil(self.epsilon.exact(), 64), num_bigint::BigInt::from(1u128 << 64));
        let one = BigRational::from_integer(1.into());
        let table = (e + one) * BigRational::from_integer(self.parameters.k.into()) * noise.distance();
        let guarantee = self.approximate(delta, &(continuous + table))?;
        Ok((Noise::Gaussian(noise), guarantee))
    }

    /// The least checked Gaussian noise for this sensitivity (Theorem 3.5).
    pub fn optimal_gaussian(&self, delta_2: f64) -> Result<(Noise, Guarantee), ParameterError> {
        let delta = self.parameters.needed_delta()?;
        // A millionth of delta is left for the table.
        let sigma = gaussian::sigma_optimal(self.epsilon.value(), delta * (1.0 - 1e-6), delta_2)?;
        self.checked_gaussian(sigma * (1.0 + 1e-12), delta_2)
    }
}
