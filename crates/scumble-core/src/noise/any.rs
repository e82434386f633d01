//! One noise law among those that a mechanism may add, as integers that a certificate can carry.

use super::geometric::positive;
use super::rng::SecretRng;
use super::symmetric::{BlockNoise, Tail};
use super::{Laplace, RoundedGaussian, Staircase};
use crate::error::{ParameterError, Refusal};
use crate::exact::{self, WorstRatio};
use crate::facts::Fact;
use num_rational::BigRational;

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

/// A positive ratio as `n/d`, or `n` when it is whole.
fn ratio_text(ratio: &BigRational) -> String {
    let [top, bottom] = [ratio.numer(), ratio.denom()].map(|number| exact::digits(number.magnitude()));
    if bottom == "1" { top } else { top + "/" + &bottom }
}

impl Noise {
    /// The integers that fix the law. 64-bit numbers are decimal strings, since JSON readers round large numbers.
    ///
    /// Laplace: P(n) proportional to (ratio / 2^64)^|n|. Staircase: P(n) proportional to
    /// (ratio / 2^64)^floor((|n| + sensitivity - width) / sensitivity). Gaussian: round(sigma Z), from thresholds of
    /// `precision_bits` bits.
    pub fn facts(&self) -> Fact {
        Fact::Fields(match self {
            Self::Laplace(law) => vec![("law", "discrete-laplace".into()), ("ratio", Fact::decimal(law.ratio()))],
            Self::Staircase(law) => vec![
                ("law", "discrete-staircase".into()),
                ("ratio", Fact::decimal(law.ratio())),
                ("sensitivity", Fact::decimal(law.sensitivity())),
                ("width", Fact::decimal(law.width())),
            ],
            Self::Gaussian(law) => vec![
                ("law", "rounded-gaussian".into()),
                ("sigma", ratio_text(law.sigma()).into()),
                ("precision_bits", law.precision_bits().into()),
            ],
        })
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

    /// The largest ratio P(n) / P(n + m) over all n and all |m| up to the sensitivity; a Gaussian has none.
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
        let worst = self.worst_ratio(sensitivity).ok_or(Refusal::GaussianIsNotPure)?;
        if worst.at_most_exp(epsilon) {
            return Ok(());
        }
        Err(Refusal::NoiseTooNarrow { sensitivity }.into())
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
    fn facts_are_the_integers() {
        let json = serde_json::to_string(&laws()[0].facts()).unwrap();
        assert_eq!(json, r#"{"law":"discrete-laplace","ratio":"18160753814917686420"}"#);
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
