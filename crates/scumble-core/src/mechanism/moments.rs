//! Variance and fourth moment of the integer laws.

use super::Moments;
use crate::calibration::{Ratio, gaussian, laplace, staircase};
use crate::exact;
use crate::noise::Noise;

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
            let sigma = exact::to_f64(law.sigma());
            (gaussian::rounded_variance(sigma), gaussian::rounded_fourth_moment(sigma))
        }
    };
    Moments { variance, fourth }
}
