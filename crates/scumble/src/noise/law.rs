//! One noise law among those that a mechanism may add, as integers that a certificate can carry.

use super::geometric::positive;
use super::half::{BlockNoise, Tail};
use super::rng::SecretRng;
use super::{Laplace, RoundedGaussian, Staircase};
use crate::error::ParameterError;
use crate::exact::WorstRatio;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};

/// Draws made at a time: they stay in the L1 cache until they are added.
const BLOCK: usize = 256;

/// An exact integer noise law.
#[derive(Debug, Clone)]
pub enum Noise {
    /// Discrete Laplace.
    Laplace(Laplace),
    /// Discrete staircase.
    Staircase(Staircase),
    /// Rounded Gaussian.
    Gaussian(RoundedGaussian),
}

impl From<Laplace> for Noise {
    fn from(law: Laplace) -> Self {
        Self::Laplace(law)
    }
}

impl From<Staircase> for Noise {
    fn from(law: Staircase) -> Self {
        Self::Staircase(law)
    }
}

impl From<RoundedGaussian> for Noise {
    fn from(law: RoundedGaussian) -> Self {
        Self::Gaussian(law)
    }
}

/// The integers that fix a law. 64-bit numbers are decimal strings, since JSON readers round large numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NoiseParameters {
    /// P(n) proportional to (ratio / 2^64)^|n|.
    DiscreteLaplace {
        /// R.
        #[serde(with = "decimal")]
        ratio: u64,
    },
    /// P(n) proportional to (ratio / 2^64)^floor((|n| + sensitivity - width) / sensitivity).
    DiscreteStaircase {
        /// Rb.
        #[serde(with = "decimal")]
        ratio: u64,
        /// B.
        #[serde(with = "decimal")]
        sensitivity: u64,
        /// r.
        #[serde(with = "decimal")]
        width: u64,
    },
    /// round(sigma Z), from thresholds of this many bits.
    RoundedGaussian {
        /// Sigma in grid steps, as a fraction.
        #[serde(with = "decimal")]
        sigma: BigRational,
        /// Bits of a threshold.
        precision_bits: u32,
    },
}

/// Numbers as decimal strings.
mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::fmt::Display;
    use std::str::FromStr;

    pub(super) fn serialize<T: Display, S: Serializer>(number: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("{text:?} is not a number in decimal digits")))
    }
}

impl Noise {
    /// Rebuilds the law that a certificate names.
    pub fn from_parameters(parameters: &NoiseParameters) -> Result<Self, ParameterError> {
        Ok(match parameters {
            NoiseParameters::DiscreteLaplace { ratio } => Laplace::from_ratio(*ratio)?.into(),
            NoiseParameters::DiscreteStaircase { ratio, sensitivity, width } => {
                Staircase::from_steps(*ratio, *sensitivity, *width)?.into()
            }
            NoiseParameters::RoundedGaussian { sigma, precision_bits } => {
                RoundedGaussian::new(sigma, *precision_bits)?.into()
            }
        })
    }

    /// The integers that fix the law.
    pub fn parameters(&self) -> NoiseParameters {
        match self {
            Self::Laplace(law) => NoiseParameters::DiscreteLaplace { ratio: law.ratio() },
            Self::Staircase(law) => NoiseParameters::DiscreteStaircase {
                ratio: law.ratio(),
                sensitivity: law.sensitivity(),
                width: law.width(),
            },
            Self::Gaussian(law) => {
                NoiseParameters::RoundedGaussian { sigma: law.sigma().clone(), precision_bits: law.precision_bits() }
            }
        }
    }

    /// The same law with tables that fill blocks; `None` where they would be too large.
    pub fn blocks(&self) -> Option<BlockNoise> {
        BlockNoise::new(self.clone())
    }

    pub(super) fn tail(&self) -> &dyn Tail {
        match self {
            Self::Laplace(law) => law,
            Self::Staircase(law) => law,
            Self::Gaussian(law) => law,
        }
    }

    /// Fills `out` with independent draws.
    pub fn fill(&self, out: &mut [i64], rng: &mut SecretRng) {
        match self {
            Self::Laplace(law) => out.fill_with(|| law.draw(rng)),
            Self::Staircase(law) => out.fill_with(|| law.draw(rng)),
            Self::Gaussian(law) => out.fill_with(|| law.draw(rng)),
        }
    }

    /// Adds an independent draw to each value. Sums beyond 64 bits saturate, which is post-processing.
    pub fn add_to(&self, x: &mut [i64], rng: &mut SecretRng) {
        let mut buffer = [0; BLOCK];
        for block in x.chunks_mut(BLOCK) {
            let noise = &mut buffer[..block.len()];
            self.fill(noise, rng);
            for (x, n) in block.iter_mut().zip(noise) {
                *x = x.saturating_add(*n);
            }
        }
    }

    /// P(n), exactly.
    pub fn weight(&self, n: i64) -> BigRational {
        match self {
            Self::Laplace(law) => law.weight(n),
            Self::Staircase(law) => law.weight(n),
            Self::Gaussian(law) => law.weight(n),
        }
    }

    /// E n^2, exactly.
    pub fn variance(&self) -> BigRational {
        match self {
            Self::Laplace(law) => law.variance(),
            Self::Staircase(law) => law.variance(),
            Self::Gaussian(law) => law.variance(),
        }
    }

    /// E n^4, exactly.
    pub fn fourth_moment(&self) -> BigRational {
        match self {
            Self::Laplace(law) => law.fourth_moment(),
            Self::Staircase(law) => law.fourth_moment(),
            Self::Gaussian(law) => law.fourth_moment(),
        }
    }

    /// The largest ratio P(n) / P(n + m) over all n and all |m| up to the sensitivity; the Gaussian has none.
    pub fn worst_ratio(&self, sensitivity: u64) -> Option<WorstRatio> {
        match self {
            Self::Laplace(law) => Some(law.worst_ratio(sensitivity)),
            Self::Staircase(law) => Some(law.worst_ratio(sensitivity)),
            Self::Gaussian(_) => None,
        }
    }

    /// Shows in exact integers that the law is epsilon-DP at this sensitivity (grid steps), or refuses.
    pub fn check(&self, sensitivity: u64, epsilon: &BigRational) -> Result<(), ParameterError> {
        positive(sensitivity, epsilon)?;
        let Some(worst) = self.worst_ratio(sensitivity) else {
            return Err(ParameterError::not_private(
                "Gaussian noise has no pure guarantee",
                "Laplace or staircase noise",
            ));
        };
        if worst.at_most_exp(epsilon) {
            return Ok(());
        }
        Err(ParameterError::not_private(
            format!("the noise is too narrow for a sensitivity of {sensitivity} grid steps at this epsilon"),
            "the law that is built for these numbers",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseKey;

    fn rational(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    fn laws() -> [Noise; 3] {
        let one = rational(1, 1);
        [
            Laplace::new(64, &one).unwrap().into(),
            Staircase::least_variance(64, &one).unwrap().into(),
            RoundedGaussian::new(&rational(271, 2), 128).unwrap().into(),
        ]
    }

    #[test]
    fn parameters_survive_json_and_rebuild_the_law() {
        for law in laws() {
            let json = serde_json::to_string(&law.parameters()).unwrap();
            let read: NoiseParameters = serde_json::from_str(&json).unwrap();
            let again = Noise::from_parameters(&read).unwrap();
            assert_eq!(again.parameters(), law.parameters(), "{json}");
            assert!((-300..300).step_by(37).all(|n| law.weight(n) == again.weight(n)));
        }
        let json = serde_json::to_string(&laws()[0].parameters()).unwrap();
        assert_eq!(json, r#"{"law":"discrete-laplace","ratio":"18160753814917686420"}"#);
    }

    #[test]
    fn forged_parameters_are_errors() {
        for json in [
            r#"{"law":"discrete-laplace","ratio":"0"}"#,
            r#"{"law":"discrete-staircase","ratio":"5","sensitivity":"4","width":"9"}"#,
            r#"{"law":"rounded-gaussian","sigma":"-1","precision_bits":128}"#,
        ] {
            let parameters: NoiseParameters = serde_json::from_str(json).unwrap();
            assert!(Noise::from_parameters(&parameters).is_err(), "{json}");
        }
        for json in [
            r#"{"law":"discrete-laplace","ratio":5}"#,
            r#"{"law":"discrete-laplace","ratio":"18446744073709551616"}"#,
            r#"{"law":"discrete-laplace","ratio":"5","more":1}"#,
            r#"{"law":"rounded-gaussian","sigma":"1/0","precision_bits":128}"#,
        ] {
            assert!(serde_json::from_str::<NoiseParameters>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn check_holds_at_the_asked_numbers_only() {
        let [laplace, staircase, gaussian] = laws();
        let one = rational(1, 1);
        for law in [&laplace, &staircase] {
            assert!(law.check(64, &one).is_ok());
            assert!(law.check(65, &one).is_err_and(|e| e.is_refusal()));
            assert!(law.check(64, &rational(999, 1000)).is_err_and(|e| e.is_refusal()));
        }
        assert!(gaussian.check(64, &one).is_err_and(|e| e.is_refusal()));
        assert!(laplace.check(0, &one).is_err() && laplace.check(64, &-one).is_err());
    }

    #[test]
    fn sums_saturate() {
        let law = &laws()[2];
        let mut x = [i64::MAX, i64::MIN].repeat(400);
        law.add_to(&mut x, &mut SecretRng::for_tests(1));
        assert!(x.iter().all(|&v| v.unsigned_abs() > 1 << 62));
        assert!(x.contains(&i64::MAX) && x.contains(&i64::MIN));
    }

    /// The first draws of every law from a fixed stream. A change here is value-breaking.
    #[test]
    fn value_stability() {
        let first = laws().map(|law| {
            let mut out = [0; 8];
            law.fill(&mut out, &mut SecretRng::keyed(&NoiseKey::from_bytes([42; 32]), &[])); // the same on every CPU
            out
        });
        assert_eq!(
            first,
            [
                [150, -109, -25, 135, -21, -20, -7, 22],
                [34, 108, 159, -103, -24, -14, 24, 9],
                [-261, 182, -58, 116, 114, 140, -42, -124]
            ]
        );
    }
}
