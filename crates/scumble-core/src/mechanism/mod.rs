//! One file per algorithm of the paper, ours next to them, all in the paper's letters.
//!
//! An algorithm's file reads its public [`Parameters`], chooses a grid, fixes the projection, derives the sensitivity
//! and checks a perturbation whose integers satisfy the promise. None of that touches data. [`Mechanism`] then runs
//! them: quantise, project, perturb.
//!
//! \[LL23\]: Li and Li, "Differential Privacy with Random Projections and Sign Random Projections".
//! \[GV15\]: Geng and Viswanath, "The optimal noise-adding mechanism in differential privacy".

mod beside;
mod id;
mod moments;
mod ours;
mod paper;
mod parameters;
mod perturbation;
mod prior;
mod recipe;
pub mod record;

pub use beside::Beside;
pub use id::{MechanismId, NotionKind, OutputKind};
pub use parameters::{Given, Parameters, Purpose, Required, SignrpMode};
pub(crate) use perturbation::{BlockPerturbation, Released, draw_symbols, flip_signs};
pub use perturbation::{Classes, IndividualNoise, Perturbation, Side, level, step};
pub use prior::{Posterior, Prior};
pub use record::{Cap, Gain, two_sided_quantile};

use crate::error::{DataError, DataErrorKind, MechanismError, ParameterError};
use crate::exact;
use crate::facts::Fact;
use crate::noise::SecretRng;
use crate::parallel;
use crate::privacy::{Claim, Promise, Unit};
use crate::projection::{BlockProjector, Projection};
use crate::vectors::{Grid, PrivateRow, QuantisedRow, Range, Rows, power_of_two};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use parameters::Setup;
use recipe::Recipe;
use recipe::sensitivity::check_overflow;

/// `hi - lo` to the last bit.
fn exact_width(range: Range) -> BigRational {
    exact::rational(range.hi) - exact::rational(range.lo)
}

/// `ceil(length / beta)`, at least 1.
fn ratio_up(length: &BigRational, beta: f64) -> u64 {
    (length / exact::rational(beta)).ceil().to_integer().to_u64().unwrap_or(u64::MAX).max(1)
}

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

/// The projection, centred on the medians that its bins learned from a public sample, in grid steps.
fn centred(projection: &Projection, grid: &Grid) -> Result<Projection, ParameterError> {
    let Some(medians) = projection.bins().and_then(|bins| bins.medians()) else { return Ok(projection.clone()) };
    let steps = |median: f64| (median / grid.step() + 0.5).floor();
    // No bin's sum is beyond this; a centre that is beyond it is a fault of the file.
    let most = projection.bound(grid.largest()) as f64;
    if medians.iter().any(|&median| steps(median).abs() > most) {
        return Err(MechanismError::BinsUnits.into());
    }
    Ok(projection.centred(medians.into_iter().map(|median| steps(median) as i64).collect()))
}

impl Mechanism {
    /// Fixes and checks every number. Reads no private data, so its errors may be shown to anyone.
    pub fn new(parameters: Parameters) -> Result<Self, ParameterError> {
        let setup = Setup::new(&parameters)?;
        let Recipe { grid, projection, perturbation, promise } = parameters.mechanism.recipe(&setup)?;
        let projection = centred(&projection, &grid)?;
        check_overflow(&projection, &grid)?;
        let norm_steps = match parameters.mechanism {
            MechanismId::DpSignrpRr if parameters.delta.is_some() => {
                parameters.norm_bound.map(|m| grid.whole_steps(m).map(|m| u128::from(m).pow(2))).transpose()?
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

    /// Covers everything that decides what happens to a row and its noise. (Not the encoding, which comes later.)
    pub fn digest(&self) -> [u8; 32] {
        Fact::Fields(vec![
            ("projection_version", Projection::VERSION.into()),
            ("parameters", self.parameters.facts()),
            ("grid_exponent", self.grid.exponent().into()),
            ("perturbation", self.perturbation.facts()),
        ])
        .digest()
    }

    /// What may be claimed about a release.
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

    /// Adopts `shared`, with the tables that it has built, if it is the same projection; else puts its own there.
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
                self.projection.sketch_unit() * power_of_two(*shift as i32) * self.grid.step()
            }
            Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => 1.0,
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
    pub(crate) fn typical_spread(&self) -> f64 {
        let guess = || self.parameters.norm_guess().powi(2) * self.parameters.coherence() / self.k() as f64;
        let signal = self.projection.bins().and_then(|bins| bins.energy()).unwrap_or_else(guess);
        (signal + self.noise_moments().map_or(0.0, |noise| noise.variance)).sqrt()
    }

    /// The largest value that a projected row can have before the noise.
    pub fn largest_value(&self) -> f64 {
        let clip = match &self.perturbation {
            Perturbation::Noise { clip: Some(c), .. } => *c as f64 * self.value_unit(),
            Perturbation::Noise { clip: None, .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => f64::INFINITY,
        };
        clip.min(self.projection.bound(self.grid.largest()) as f64 * self.projection.sketch_unit() * self.grid.step())
    }

    /// The least and the largest value that each coordinate of a row can have before the noise, in data units: sums of ends
    /// of the range, and the clip. What is beyond them in a released value is noise. `None` for bits, symbols and dense
    /// matrices, and for more attributes than are worth counting.
    pub fn value_bounds(&self) -> Option<Vec<[f64; 2]>> {
        let Perturbation::Noise { clip, .. } = &self.perturbation else { return None };
        let most = clip.map_or(f64::INFINITY, |clip| clip as f64 * self.value_unit());
        let (unit, (lo, hi)) = (self.projection.sketch_unit() * self.grid.step(), self.grid.bounds());
        let (lo, hi) = (f64::from(lo) * unit, f64::from(hi) * unit);
        let bounds = |([minus, plus], centre): ([u64; 2], f64)| {
            let (minus, plus) = (minus as f64, plus as f64);
            [plus * lo - minus * hi, plus * hi - minus * lo].map(|end| (end - centre).clamp(-most, most) + centre)
        };
        let centres = self.centres().into_iter().chain(std::iter::repeat(0.0));
        Some(self.projection.output_signs()?.into_iter().zip(centres).map(bounds).collect())
    }

    /// What was subtracted from each coordinate before the perturbation, in data units; empty if nothing was.
    pub fn centres(&self) -> Vec<f64> {
        self.projection.centres().iter().map(|&c| c as f64 * self.grid.step()).collect()
    }

    /// What each symbol or bit says about its bin under the public prior; `None` if that is not a function of one bin.
    pub fn posterior(&self) -> Option<Posterior> {
        self.perturbation.posterior(&Prior::new(&self.parameters), self.grid.step())
    }

    /// The value of each symbol, its posterior mean in data units; empty unless the mechanism has symbols.
    pub fn symbol_values(&self) -> Vec<f64> {
        match &self.perturbation {
            Perturbation::Symbols { .. } => self.posterior().map_or_else(Vec::new, |posterior| posterior.means),
            Perturbation::Noise { .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Individual { .. } => Vec::new(),
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

    /// Projects blocks of rows; `None` where each row must be looked at by itself.
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
    #[cfg(any(test, feature = "testing"))]
    pub fn project_exact(&self, u: PrivateRow<'_>, out: &mut [f64]) -> Result<(), DataErrorKind> {
        let mut x = vec![0; self.k()];
        if u.dim() != self.parameters.dim {
            return Err(DataErrorKind::Dimension { found: u.dim() as u64, expected: self.parameters.dim as u64 });
        }
        self.projection.apply(u, &mut x);
        self.to_exact(&x, out);
        Ok(())
    }

    /// What a release of this row estimates: the mean of the released row, on the scale of the released row.
    ///
    /// Values: the row itself, projected and clipped. Bits: between -1 and 1, by how often they are flipped. Symbols:
    /// the mean of their values. Records: the direction of the projected row, at the length of the mean of its bits.
    /// For rows their owner keeps, to compare with a release or give to a model trained on one. No noise: NOT private.
    pub fn expected(&self, u: PrivateRow<'_>, out: &mut [f64]) -> Result<(), DataErrorKind> {
        let mut x = vec![0; self.k()];
        self.project_row(u, &mut x)?;
        let each = out.iter_mut().zip(&x);
        match &self.perturbation {
            Perturbation::Noise { .. } => {
                let unit = self.value_unit();
                self.perturbation.prepare(&mut x);
                out.iter_mut().zip(&x).for_each(|(value, &x)| *value = x as f64 * unit);
            }
            Perturbation::NoisySign { noise } => {
                // The normal law stands for the rounded one: post-processing, nothing rests on it.
                let sigma = moments::moments(noise).variance.sqrt();
                each.for_each(|(value, &x)| *value = libm::erf(x as f64 / (sigma * std::f64::consts::SQRT_2)));
            }
            Perturbation::Flips { steps, table, side } => each.enumerate().for_each(|(j, (value, &x))| {
                let (plus, level) = level(x, step(steps, j), *side);
                let kept = 1.0 - 2.0 * table.threshold(level) as f64 / 2f64.powi(64);
                *value = if plus { kept } else { -kept };
            }),
            Perturbation::Symbols { classes, table } => {
                let values = self.symbol_values();
                let mean = |row: &Vec<u64>| {
                    let total: f64 = row.iter().map(|&weight| weight as f64).sum();
                    row.iter().zip(&values).map(|(&weight, value)| weight as f64 * value).sum::<f64>() / total
                };
                let means: Vec<f64> = table.rows().iter().map(mean).collect();
                each.for_each(|(value, &x)| *value = means[classes.of(x)]);
            }
            Perturbation::Cap(cap) => {
                let norm = x.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
                let gain = cap.gain().map_or(norm * self.grid.step(), |gain| gain.overall());
                let scale = if norm > 0.0 { gain / norm } else { 0.0 };
                each.for_each(|(value, &x)| *value = x as f64 * scale);
            }
            Perturbation::Individual { .. } => each.for_each(|(value, &x)| *value = (x as f64).signum()),
        }
        self.add_centres(out);
        Ok(())
    }

    /// [`expected`](Self::expected) of every row, on all cores.
    pub fn expected_rows(&self, rows: Rows<'_>) -> Result<Vec<f32>, DataError> {
        const TASK: usize = 64; // rows
        let k = self.k();
        let mut all = vec![0f32; rows.len() * k];
        let tools = || (QuantisedRow::default(), vec![0.0; k]);
        parallel::try_chunks(&mut all, TASK * k, tools, |(buffer, values), task, out| {
            for (i, out) in (task * TASK..).zip(out.chunks_exact_mut(k)) {
                let row = rows.quantise(i, &self.grid, 0, buffer)?;
                self.expected(row, values).map_err(|kind| DataError { row: i as u64, column: None, kind })?;
                out.iter_mut().zip(&*values).for_each(|(out, &value)| *out = value as f32);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Projected integers of one row in real units, as released values are: bits stay around their centres.
    pub fn to_exact(&self, x: &[i64], out: &mut [f64]) {
        let unit = self.projection.sketch_unit() * self.grid.step();
        out.iter_mut().zip(x).for_each(|(value, &x)| *value = x as f64 * unit);
        self.add_centres(out);
    }

    /// Adds what was subtracted from each coordinate back to its value; bits stay around their centres.
    fn add_centres(&self, out: &mut [f64]) {
        if self.id().output() != OutputKind::Bits {
            out.iter_mut().zip(self.centres()).for_each(|(value, centre)| *value += centre);
        }
    }

    /// Sentences that the operator should read before releasing.
    pub fn warnings(&self) -> Vec<String> {
        self.claim().warnings(self.parameters.beta)
    }

    /// The promise with everything that decides what it means to a reader.
    pub fn claim(&self) -> Claim {
        let Parameters { range, dim, .. } = self.parameters;
        let guarantee = self.promise.guarantee().cloned();
        let bound = |moves: Option<u64>| guarantee.as_ref().zip(moves).map(|(guarantee, moves)| guarantee.group(moves));
        let (any_value, whole_row) = (bound(self.moves_to_any_value()), bound(self.moves_to_any_row()));
        Claim { guarantee, range, dim, any_value, whole_row }
    }

    /// How many neighbours apart one value and any other are; `None` where a row between may not be admitted.
    fn moves_to_any_value(&self) -> Option<u64> {
        let setup = Setup::new(&self.parameters).ok()?;
        let (lo, hi) = self.grid.bounds();
        let width = u64::from(hi.abs_diff(lo)).max(1);
        let moves = match (self.parameters.unit, &self.perturbation) {
            (Unit::Record, _) => 1,
            (Unit::L2, _) => ratio_up(&exact_width(self.parameters.range), setup.beta),
            // Any two zones are neighbours, whatever lies between them.
            (_, Perturbation::Symbols { classes: Classes::Zones { .. }, .. }) => 1,
            // Every level flips alike. (With a promised norm beta bounds how many signs change.)
            (_, Perturbation::Flips { table, .. }) if table.thresholds().len() <= 2 && self.norm_steps.is_none() => 1,
            // No touched coordinate moves by more than 2c.
            (Unit::Attribute, Perturbation::Noise { clip: Some(c), .. }) => {
                let most = c.unsigned_abs().saturating_mul(2);
                width.min(most).div_ceil(setup.steps_l1(&self.grid).ok()?.min(most))
            }
            (
                Unit::Attribute | Unit::L1,
                Perturbation::Noise { .. }
                | Perturbation::NoisySign { .. }
                | Perturbation::Flips { .. }
                | Perturbation::Cap(_)
                | Perturbation::Symbols { .. }
                | Perturbation::Individual { .. },
            ) => width.div_ceil(setup.steps_l1(&self.grid).ok()?),
        };
        Some(moves).filter(|&moves| moves == 1 || self.norm_steps.is_none())
    }

    /// How many neighbours apart one row and any other are.
    fn moves_to_any_row(&self) -> Option<u64> {
        let (dim, unit) = (self.parameters.dim as u64, self.parameters.unit);
        let width = exact_width(self.parameters.range);
        let moves = match unit {
            Unit::Record => 1,
            Unit::Attribute => self.moves_to_any_value()?.saturating_mul(dim),
            Unit::L1 => ratio_up(&(width * BigInt::from(dim)), self.parameters.beta),
            Unit::L2 => ratio_up(&(width * BigInt::from(dim.isqrt() + 1)), self.parameters.beta),
        };
        Some(moves).filter(|&moves| moves == 1 || self.norm_steps.is_none())
    }

    /// What the guarantee assumes, in plain sentences.
    pub fn assumptions(&self) -> Vec<String> {
        let mut assumptions = vec![
            "beta, range, norm, clip and every other parameter were chosen without looking at the private rows".into(),
            "every row belongs to a different person, or a person with several rows pays for each".into(),
            "the noise comes from the operating system's entropy through a CSPRNG that the adversary cannot predict"
                .into(),
        ];
        if let Some(partition) = &self.parameters.bins {
            assumptions.push(format!(
                "the bins were fixed without looking at the rows that are released: {}",
                partition.provenance()
            ));
        }
        for (fixed, file) in [("components were", &self.parameters.components), ("book was", &self.parameters.book)] {
            if let Some(table) = file.as_ref().and_then(|file| file.content()) {
                assumptions.push(format!(
                    "the {fixed} fixed without looking at the rows that are released: from {}",
                    table.origin()
                ));
            }
        }
        if self.norm_steps.is_some() {
            assumptions.push("every row, and every neighbour of it, has at least the promised norm".into());
            assumptions.push("the rows do not depend on the projection matrix; it is used for one release only".into());
        }
        assumptions
    }

    /// What the guarantee does not cover, in plain sentences.
    pub fn not_protected(&self) -> Vec<String> {
        let Parameters { unit, range, .. } = self.parameters;
        let mut list = vec![match unit {
            _ if self.promise.guarantee().is_none() => "a whole record, or any single attribute of it".into(),
            Unit::Attribute => format!(
                "a whole record: a change of several attributes costs the sum of their changes divided by beta, each \
                 rounded up, times epsilon, up to {} attributes of width {}",
                self.parameters.dim,
                range.width()
            ),
            Unit::L1 | Unit::L2 => "changes of a row that are larger than beta in the stated distance".into(),
            Unit::Record => "a person with several rows pays epsilon for each of them".into(),
        }];
        list.push("the number of rows, their order, their ids and labels are released as they are".into());
        list.push("facts about a population that hold whether or not a row is in the data".into());
        if self.parameters.bins.is_some() && unit != Unit::Record {
            list.push(
                "a change of many attributes that share a bin: it adds up in that bin, where random signs would blur it"
                    .into(),
            );
        }
        if self.parameters.book.is_some() {
            list.push("appearances: a released word is a public row, and may look like somebody's record".into());
        }
        list.push("a searcher's exact query".into());
        list
    }
}
