//! Sensitivities and checked noise laws that several algorithms share.

use crate::calibration::{Ratio, gaussian, laplace, staircase};
use crate::error::ParameterError;
use crate::exact;
use crate::mechanism::Moments;
use crate::mechanism::parameters::{STEPS, Setup};
use crate::noise::{Noise, RoundedGaussian};
use crate::privacy::{Guarantee, Unit, check_delta};
use crate::projection::Projection;
use crate::vectors::Grid;
use num_rational::BigRational;
use num_traits::ToPrimitive;

/// Table entries grow with sigma: the grid for Gaussian noise keeps sigma near this many steps at the most.
const SIGMA_STEPS: f64 = 16384.0;

/// Refuses a projection whose integers could overflow: `p*Q` times the largest weight must fit with head room.
pub(crate) fn check_overflow(projection: &Projection, grid: &Grid) -> Result<(), ParameterError> {
    if projection.bound(grid.largest()) >= 1 << 62 {
        return Err(ParameterError::invalid(format!(
            "{} attributes of up to {} grid steps could overflow 63 bits: narrow --range or enlarge --beta",
            projection.dim(),
            grid.largest()
        )));
    }
    Ok(())
}

/// Moments of an integer law, in steps.
pub(crate) fn moments(noise: &Noise) -> Moments {
    let (variance, fourth) = match noise {
        Noise::Laplace(law) => {
            let a = Ratio::from_integer(law.ratio());
            (laplace::variance(a), laplace::fourth_moment(a))
        }
        Noise::Staircase(law) => {
            let (b, steps, r) = (Ratio::from_integer(law.ratio()), law.sensitivity(), law.width());
            (staircase::variance(b, steps, r), staircase::fourth_moment(b, steps, r))
        }
        Noise::Gaussian(law) => {
            let sigma = law.sigma().to_f64().expect("a finite sigma");
            (gaussian::rounded_variance(sigma), gaussian::rounded_fourth_moment(sigma))
        }
    };
    Moments { variance, fourth }
}

impl Setup<'_> {
    /// The grid for Gaussian noise of about `relative` times beta a coordinate of weight 1.
    pub fn gaussian_grid(&self, relative: f64, k_norm: f64) -> Result<Grid, ParameterError> {
        let steps = (SIGMA_STEPS / (relative * k_norm)).clamp(32.0, STEPS as f64);
        self.grid(steps as u64)
    }

    /// `Delta_2` of the integer projection after dropping `shift` fraction bits, in steps, rounded up.
    ///
    /// attribute, l1: the largest row norm carries it, by convexity. l2: the operator norm; each of p attributes may in
    /// addition cross a rounding threshold. record: two points of a ball of the clip radius.
    pub fn delta_2(&self, projection: &Projection, grid: &Grid, shift: u32) -> Result<f64, ParameterError> {
        let scale = (-f64::from(shift)).exp2();
        // Rounding the fraction bits away moves each of k coordinates by less than one more step.
        let rounding = if shift == 0 { 0.0 } else { (projection.k() as f64).sqrt() };
        let up = 1.0 + 1e-12; // covers the rounding of the few float operations here
        Ok(match self.parameters.unit {
            Unit::Attribute | Unit::L1 => {
                let norm = (projection.max_squared_norm2() as f64).sqrt();
                (self.steps_l1(grid) as f64 * norm * scale + rounding) * up
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
        let Some(norm) = self.parameters.clip_norm else {
            return Err(ParameterError::invalid(
                "unit record with Gaussian noise needs --clip-norm C: every projected row is clipped to that radius",
            ));
        };
        let radius = norm / (projection.sketch_unit() * f64::from(shift).exp2() * grid.step());
        if !(1.0..1e15).contains(&radius) {
            return Err(ParameterError::invalid(format!("--clip-norm {norm} is outside what the grid can hold")));
        }
        Ok(radius as u64)
    }

    /// The rounded Gaussian at `sigma` steps, after checking `(epsilon, delta)` of it in exact arithmetic.
    ///
    /// `x + round(sigma Z) = round(x + sigma Z)`: post-processing of the continuous mechanism, so its exact delta
    /// holds; the table's distance eta from that law costs `(1+e^epsilon) k eta` more.
    pub fn checked_gaussian(&self, sigma: f64, delta_2: f64, delta: f64) -> Result<Noise, ParameterError> {
        let epsilon = self.epsilon.value();
        let k = self.parameters.k as f64;
        // Precision such that the table's share of delta is below delta * 2^-24.
        let bits = 24.0 + 24.0 + epsilon * std::f64::consts::LOG2_E + k.log2() - delta.log2();
        let noise = RoundedGaussian::new(&exact::rational(sigma), bits.max(96.0).ceil() as u32)?;
        let mu = exact::rational(delta_2) / exact::rational(sigma);
        let continuous = exact::gaussian_delta_upper(self.epsilon.exact(), &mu, 160 + bits as u32);
        let e = BigRational::new(exact::exp_ceil(self.epsilon.exact(), 64), num_bigint::BigInt::from(1u128 << 64));
        let one = BigRational::from_integer(1.into());
        let table = (e + one) * BigRational::from_integer(self.parameters.k.into()) * noise.distance();
        if continuous + table > exact::rational(delta) {
            return Err(ParameterError::invalid(format!(
                "could not show delta <= {delta:e} for sigma = {sigma} steps; choose a larger delta"
            )));
        }
        Ok(Noise::Gaussian(noise))
    }

    /// The least checked Gaussian noise for this sensitivity (Theorem 3.5).
    pub fn optimal_gaussian(&self, delta_2: f64) -> Result<Noise, ParameterError> {
        let delta = check_delta(self.parameters.delta)?;
        // A millionth of delta is left for the table.
        let sigma = gaussian::sigma_optimal(self.epsilon.value(), delta * (1.0 - 1e-6), delta_2)?;
        self.checked_gaussian(sigma * (1.0 + 1e-12), delta_2, delta)
    }

    /// sigma over sensitivity, for the choice of the grid.
    pub fn relative_sigma(&self) -> Result<f64, ParameterError> {
        gaussian::sigma_optimal(self.epsilon.value(), check_delta(self.parameters.delta)?, 1.0)
    }

    /// The guarantee of the Gaussian mechanisms.
    pub fn approximate(&self) -> Result<Guarantee, ParameterError> {
        let delta = check_delta(self.parameters.delta)?;
        Ok(Guarantee::approximate(self.epsilon.value(), delta, self.parameters.unit, self.beta))
    }

    /// A pure guarantee with the checked loss of the integer law.
    pub fn pure(&self, checked_epsilon: f64) -> Guarantee {
        Guarantee::pure(self.epsilon.value(), checked_epsilon, self.parameters.unit, self.beta)
    }
}
