//! Unit `record`: publish a vertex of the cube (PrivCube, signcap) or a word of a public book (Privbook), as the id says.
//!
//! All take any function of the row, so neither range nor grid nor projection enters the proof; they only map the row
//! to integers. Default projection of vertices: OPORP, which lost least of several on embeddings; Rademacher where k exceeds p.

mod gain;
mod odds;
pub mod privbook;
pub mod privcube;
pub mod signcap;
mod vertices;

pub use gain::{Gain, two_sided_quantile};

use self::privbook::Privbook;
use self::privcube::Privcube;
use self::signcap::Signcap;
use crate::error::{MechanismError, NoProof, ParameterError};
use crate::exact::{self, WorstRatio};
use crate::facts::Fact;
use crate::mechanism::parameters::Setup;
use crate::mechanism::perturbation::Perturbation;
use crate::mechanism::recipe::Recipe;
use crate::noise::SecretRng;
use crate::privacy::{Promise, Unit};
use crate::projection::{Projection, ProjectionKind, PublicTable, TableKind};
use crate::vectors::Grid;
use num_rational::BigRational;

/// Steps of the range on the automatic grid: far finer than the weights.
pub(crate) const STEPS: u64 = 1 << 14;

/// A whole-record law with its public integers.
#[derive(Debug, Clone)]
pub enum Cap {
    /// Weights of a few bits.
    Privcube(Privcube),
    /// Signs.
    Signcap(Signcap),
    /// A word of a public book.
    Privbook(Privbook),
}

/// The recipe of a whole-record law: any function of the row may precede it.
fn recipe(
    setup: &Setup<'_>,
    cap: impl FnOnce(usize, &BigRational) -> Result<Cap, ParameterError>,
) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Record], NoProof::WholeRecord)?;
    let parameters = setup.parameters;
    let grid = setup.grid(STEPS)?;
    let projection = if let Some(file) = &parameters.components {
        let table = file.table(TableKind::Components, parameters.dim)?;
        let (_, k) = table.shape();
        if k != parameters.k || parameters.projection.is_some() || parameters.bins.is_some() {
            return Err(MechanismError::Components { k }.into());
        }
        let projection = Projection::with_components(table.clone(), parameters.seed, grid.step());
        // Utility alone: a campaign is checked where it is made, and a device has no room for it.
        if cfg!(feature = "host") {
            check_units(table, &projection, &grid)?;
        }
        projection
    } else if parameters.projection.is_none() && parameters.k > parameters.dim {
        Projection::new(ProjectionKind::Rademacher, parameters.seed, parameters.dim, parameters.k)?
    } else {
        setup.projection(&["oporp", "rademacher", "gaussian", "uniform", "very-sparse", "none"])?
    };
    let cap = cap(parameters.k, setup.epsilon.exact())?;
    let promise = Promise::Private(setup.pure(&cap.worst_ratio())?);
    Ok(Recipe { grid, projection, perturbation: Perturbation::Cap(cap), promise })
}

/// Refuses a centre that no row of the range can reach: every row would give the same bits.
fn check_units(table: &PublicTable, projection: &Projection, grid: &Grid) -> Result<(), ParameterError> {
    let mut most = vec![0; projection.k()];
    for attribute in 0..projection.dim() {
        most.iter_mut().zip(table.row(attribute)).for_each(|(most, &w)| *most += i128::from(w.unsigned_abs()));
    }
    // The centre was not rounded to the grid: a step more.
    let steps = i128::from(grid.largest()) + 1;
    match projection.centres().iter().zip(most).all(|(centre, most)| i128::from(centre.abs()) <= most * steps) {
        true => Ok(()),
        false => Err(MechanismError::ComponentsUnits.into()),
    }
}

impl Cap {
    /// Replaces the projected row by bits 0 and 1.
    pub(crate) fn apply(&self, x: &mut [i64], rng: &mut SecretRng) {
        match self {
            Self::Privcube(cube) => cube.apply(x, rng),
            Self::Signcap(cap) => cap.apply(x, rng),
            Self::Privbook(book) => book.apply_rows(x, |_, draw| draw(rng)),
        }
    }

    /// The worst ratio between any two records.
    pub fn worst_ratio(&self) -> WorstRatio {
        match self {
            Self::Privcube(cube) => cube.worst_ratio(),
            Self::Signcap(cap) => cap.worst_ratio(),
            Self::Privbook(book) => book.worst_ratio(),
        }
    }

    /// What an estimator needs to know.
    pub fn gain(&self) -> Option<Gain> {
        match self {
            Self::Privcube(cube) => Some(cube.gain()),
            Self::Signcap(cap) => Some(cap.gain()),
            Self::Privbook(_) => None,
        }
    }

    /// The integers for the certificate.
    pub fn facts(&self) -> Fact {
        let odds = Fact::Fields(vec![
            ("numerator", exact::digits(&self.worst_ratio().num).into()),
            ("denominator", "2^64".into()),
        ]);
        let mut fields = vec![("kind", Fact::from("weighted-vertex"))];
        match self {
            Self::Privcube(cube) => fields.extend([
                ("law", "privcube".into()),
                ("odds", odds),
                ("cap", exact::digits(&cube.cap().into()).into()),
                ("vertices", (String::from("2^") + &cube.k().to_string()).into()),
            ]),
            Self::Signcap(cap) => fields.extend([
                ("law", "signcap".into()),
                ("odds", odds),
                ("least_agreements", cap.tau().into()),
                ("coordinates", cap.k().into()),
            ]),
            Self::Privbook(book) => fields.extend([
                ("law", "privbook".into()),
                ("odds", odds),
                ("favoured", book.favoured().into()),
                ("words", book.words().into()),
            ]),
        }
        Fact::Fields(fields)
    }
}
