//! Unit `record`: publish a vertex of the cube by PrivCube or signcap, whichever the id says.
//!
//! Both take any function of the row, so neither range nor grid nor projection enters the proof; they only carry the row
//! to k integers. Default projection: OPORP, which lost least on embeddings of several; Rademacher where k exceeds p.

mod gain;
mod odds;
pub mod privcube;
pub mod signcap;
mod vertices;

pub use gain::{Gain, two_sided_quantile};

use self::privcube::Privcube;
use self::signcap::Signcap;
use crate::error::ParameterError;
use crate::exact::WorstRatio;
use crate::facts::Fact;
use crate::mechanism::parameters::Setup;
use crate::mechanism::perturbation::Perturbation;
use crate::mechanism::recipe::Recipe;
use crate::noise::SecretRng;
use crate::privacy::{Promise, Unit};
use crate::projection::{Projection, ProjectionKind};
use num_rational::BigRational;

/// Steps of the range on the automatic grid: far finer than the weights.
const STEPS: u64 = 1 << 14;

/// A whole-record law with its public integers.
#[derive(Debug, Clone)]
pub enum Cap {
    /// Weights of a few bits.
    Privcube(Privcube),
    /// Signs.
    Signcap(Signcap),
}

/// The recipe of a whole-record law: any function of the row may come before it.
fn recipe(
    setup: &Setup<'_>,
    cap: impl FnOnce(usize, &BigRational) -> Result<Cap, ParameterError>,
) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Record], "it protects the whole record, at a price that a smaller unit need not pay")?;
    let parameters = setup.parameters;
    let projection = if parameters.projection.is_none() && parameters.k > parameters.dim {
        Projection::new(ProjectionKind::Rademacher, parameters.seed, parameters.dim, parameters.k)?
    } else {
        setup.projection(&["oporp", "rademacher", "gaussian", "uniform", "very-sparse", "none"])?
    };
    let cap = cap(parameters.k, setup.epsilon.exact())?;
    let promise = Promise::Private(setup.pure(&cap.worst_ratio())?);
    Ok(Recipe { grid: setup.grid(STEPS)?, projection, perturbation: Perturbation::Cap(cap), promise })
}

impl Cap {
    /// Replaces the projected row by bits 0 and 1.
    pub(crate) fn apply(&self, x: &mut [i64], rng: &mut SecretRng) {
        match self {
            Self::Privcube(cube) => cube.apply(x, rng),
            Self::Signcap(cap) => cap.apply(x, rng),
        }
    }

    /// The worst ratio between any two records.
    pub fn worst_ratio(&self) -> WorstRatio {
        match self {
            Self::Privcube(cube) => cube.worst_ratio(),
            Self::Signcap(cap) => cap.worst_ratio(),
        }
    }

    /// What an estimator needs to know.
    pub fn gain(&self) -> Gain {
        match self {
            Self::Privcube(cube) => cube.gain(),
            Self::Signcap(cap) => cap.gain(),
        }
    }

    /// The integers for the certificate.
    pub fn facts(&self) -> Fact {
        let odds =
            Fact::Fields(vec![("numerator", Fact::decimal(self.worst_ratio().num)), ("denominator", "2^64".into())]);
        let mut fields = vec![("kind", Fact::from("weighted-vertex"))];
        match self {
            Self::Privcube(cube) => fields.extend([
                ("law", "privcube".into()),
                ("odds", odds),
                ("cap", Fact::decimal(cube.cap())),
                ("vertices", format!("2^{}", cube.k()).into()),
            ]),
            Self::Signcap(cap) => fields.extend([
                ("law", "signcap".into()),
                ("odds", odds),
                ("least_agreements", cap.tau().into()),
                ("coordinates", cap.k().into()),
            ]),
        }
        Fact::Fields(fields)
    }
}
