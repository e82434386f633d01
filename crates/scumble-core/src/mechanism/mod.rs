//! One file per algorithm of the paper, ours beside them, all in the paper's letters.
//!
//! An algorithm's file reads its public [`Parameters`], chooses a grid, fixes the projection, derives the sensitivity
//! and checks a perturbation whose integers satisfy the promise. None of that touches data. [`Mechanism`] then runs
//! them: quantise, project, perturb.
//!
//! \[LL23\]: Li and Li, "Differential Privacy with Random Projections and Sign Random Projections".
//! \[GV15\]: Geng and Viswanath, "The optimal noise-adding mechanism in differential privacy".

mod id;
mod moments;
mod ours;
mod paper;
mod parameters;
mod perturbation;
mod prior;
mod recipe;
pub mod record;

pub use id::{MechanismId, NotionKind, OutputKind};
pub use parameters::{Parameters, SignrpMode};
pub(crate) use perturbation::{BlockPerturbation, Released};
pub use perturbation::{Classes, IndividualNoise, Perturbation, Side, level, step};
pub use prior::{Posterior, Prior};
pub use record::{Cap, Gain};

use crate::error::{DataErrorKind, ParameterError};
use crate::facts::Fact;
use crate::noise::SecretRng;
use crate::privacy::{Promise, Unit};
use crate::projection::{BlockProjector, Projection};
use crate::vectors::{Grid, PrivateRow};
use parameters::Setup;
use recipe::Recipe;
use recipe::sensitivity::check_overflow;

/// A mechanism with every public number fixed and checked. Holds no private data.
#[derive(Debug, Clone)]
pub struct Mechanism {
    parameters: Parameters,
    grid: Grid,
    projection: Projection,
    perturbation: Perturbation,
    promise: Promise,
    norm_steps: Option<u128>, // the promised norm, squared, in steps
}

/// Moments of the noise on one released value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// s2.
    pub variance: f64,
    /// m4.
    pub fourth: f64,
}

impl Mechanism {
    /// Fixes and checks every number. Reads no private data, so its errors may be shown to anyone.
    pub fn new(parameters: Parameters) -> Result<Self, ParameterError> {
        let setup = Setup::new(&parameters)?;
        let Recipe { grid, projection, perturbation, promise } = parameters.mechanism.recipe(&setup)?;
        check_overflow(&projection, &grid)?;
        let norm_steps = match parameters.mechanism {
            MechanismId::DpSignrpRr if parameters.delta.is_some() => {
                parameters.norm_bound.map(|m| ((m / grid.step()).floor() as u128).pow(2))
            }
            _ => None,
        };
        Ok(Self { parameters, grid, projection, perturbation, promise, norm_steps })
    }

    /// The public inputs.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Which mechanism.
    pub fn id(&self) -> MechanismId {
        self.parameters.mechanism
    }

    /// Names everything that decides what becomes of a row and its noise. (The encoding comes after and does not.)
    pub fn digest(&self) -> [u8; 32] {
        Fact::Fields(vec![
            ("projection_version", Projection::VERSION.into()),
            ("parameters", self.parameters.facts()),
            ("grid_exponent", self.grid.exponent().into()),
            ("perturbation", self.perturbation.facts()),
        ])
        .digest()
    }

    /// What may be said of a release.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// The grid of the private values.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The public projection.
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// Takes `shared` for its own if it is the same projection, with the tables that it has built; else leaves its own.
    pub fn share_projection(&mut self, shared: &mut Option<Projection>) {
        match shared {
            Some(projection) if projection.equals(&self.projection) => self.projection = projection.clone(),
            _ => *shared = Some(self.projection.clone()),
        }
    }

    /// The perturbation with its integers.
    pub fn perturbation(&self) -> &Perturbation {
        &self.perturbation
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.parameters.k
    }

    /// The real value of one released integer (1 for bits).
    pub fn value_unit(&self) -> f64 {
        match &self.perturbation {
            Perturbation::Noise { shift, .. } => {
                self.projection.sketch_unit() * f64::from(*shift).exp2() * self.grid.step()
            }
            _ => 1.0,
        }
    }

    /// Variance and fourth moment of the noise on one released value, in real units; `None` for bits and symbols.
    pub fn noise_moments(&self) -> Option<Moments> {
        let Perturbation::Noise { noise, .. } = &self.perturbation else { return None };
        let unit = self.value_unit();
        let Moments { variance, fourth } = moments::moments(noise);
        Some(Moments { variance: variance * unit.powi(2), fourth: fourth * unit.powi(4) })
    }

    /// Typical deviation of one released value around zero, from public numbers only.
    pub fn typical_spread(&self) -> f64 {
        let signal = self.parameters.norm_guess().powi(2) / self.k() as f64;
        (signal + self.noise_moments().map_or(0.0, |noise| noise.variance)).sqrt()
    }

    /// The largest value that a projected row can have before the noise.
    pub fn largest_value(&self) -> f64 {
        let clip = match &self.perturbation {
            Perturbation::Noise { clip: Some(c), .. } => *c as f64 * self.value_unit(),
            _ => f64::INFINITY,
        };
        clip.min(self.projection.bound(self.grid.largest()) as f64 * self.projection.sketch_unit() * self.grid.step())
    }

    /// What each symbol or bit says about its bin under the public prior; `None` where that is no function of one bin.
    pub fn posterior(&self) -> Option<Posterior> {
        self.perturbation.posterior(&Prior::new(&self.parameters), self.grid.step())
    }

    /// The value of each symbol, its posterior mean in data units; empty unless the mechanism has symbols.
    pub fn symbol_values(&self) -> Vec<f64> {
        match &self.perturbation {
            Perturbation::Symbols { .. } => self.posterior().map_or_else(Vec::new, |posterior| posterior.means),
            _ => Vec::new(),
        }
    }

    /// One row: project, then perturb. `out` holds k integers; bits are 0 and 1.
    pub fn release_row(&self, u: PrivateRow<'_>, out: &mut [i64], rng: &mut SecretRng) -> Result<(), DataErrorKind> {
        self.project_row(u, out)?;
        self.perturbation.apply(out, rng);
        Ok(())
    }

    /// The first half of [`release_row`](Self::release_row).
    pub(crate) fn project_row(&self, u: PrivateRow<'_>, out: &mut [i64]) -> Result<(), DataErrorKind> {
        self.admit(u)?;
        self.projection.apply(u, out);
        Ok(())
    }

    /// Blocks of rows go through these; `None` where a row must be looked at by itself.
    pub(crate) fn block_projector(&self) -> Option<BlockProjector> {
        // A promise about the norm is checked row by row.
        if self.norm_steps.is_some() { None } else { BlockProjector::new(&self.projection, &self.grid) }
    }

    /// Checks a promise about the input on which the guarantee rests.
    fn admit(&self, u: PrivateRow<'_>) -> Result<(), DataErrorKind> {
        if u.dim() != self.parameters.dim {
            return Err(DataErrorKind::Dimension { found: u.dim() as u64, expected: self.parameters.dim as u64 });
        }
        match self.norm_steps {
            Some(least) if u.squared_norm() < least => Err(DataErrorKind::NormBelowBound),
            _ => Ok(()),
        }
    }

    /// The projection of a row that its owner keeps exact (a searcher's own query): no noise, in real units.
    pub fn project_exact(&self, u: PrivateRow<'_>, out: &mut [f64]) -> Result<(), DataErrorKind> {
        let mut x = vec![0; self.k()];
        if u.dim() != self.parameters.dim {
            return Err(DataErrorKind::Dimension { found: u.dim() as u64, expected: self.parameters.dim as u64 });
        }
        self.projection.apply(u, &mut x);
        let unit = self.projection.sketch_unit() * self.grid.step();
        out.iter_mut().zip(&x).for_each(|(value, &x)| *value = x as f64 * unit);
        Ok(())
    }

    /// Sentences that the operator should read before releasing.
    pub fn warnings(&self) -> Vec<String> {
        let Parameters { beta, range, unit, .. } = self.parameters;
        let mut warnings = Vec::new();
        if unit == Unit::Attribute && beta < range.width() {
            warnings.push(format!(
                "beta = {beta} is less than the range's width {}: replacing an attribute by an arbitrary value is not \
                 covered, only moving it by at most beta",
                range.width()
            ));
        }
        if unit == Unit::Attribute && beta > range.width() {
            warnings.push(format!("beta = {beta} is capped at the range's width {}", range.width()));
        }
        if let Promise::NotPrivate(_) = self.promise {
            warnings.push(format!("NOT differentially private: {}", crate::privacy::Individual::SENTENCE));
        }
        warnings
    }

    /// What the guarantee assumes, in plain sentences.
    pub fn assumptions(&self) -> Vec<String> {
        let mut assumptions = vec![
            "beta, range, norm, clip and every other parameter were chosen without looking at the private rows".into(),
            "every row belongs to a different person, or a person with several rows pays for each".into(),
            "the noise comes from the operating system's entropy through a CSPRNG that the adversary cannot predict"
                .into(),
        ];
        if self.norm_steps.is_some() {
            assumptions.push("every row, and every neighbour of it, has at least the promised norm".into());
            assumptions.push("the rows do not depend on the projection matrix; it is used for one release only".into());
        }
        assumptions
    }

    /// What the guarantee does not cover, in plain sentences.
    pub fn not_protected(&self) -> Vec<String> {
        let Parameters { unit, range, .. } = self.parameters;
        let mut list = vec![
            "the number of rows, their order, their ids and labels are released as they are".into(),
            "facts about a population that hold whether or not a row is in the data".into(),
        ];
        match unit {
            Unit::Attribute => list.push(format!(
                "a whole record: a change of several attributes costs the sum of their changes divided by beta, times \
                 epsilon, up to {} attributes of width {}",
                self.parameters.dim,
                range.width()
            )),
            Unit::L1 | Unit::L2 => {
                list.push("changes of a row that are larger than beta in the stated distance".into())
            }
            Unit::Record => list.push("a person with several rows pays epsilon for each of them".into()),
        }
        list.push("a searcher's exact query".into());
        list
    }
}
