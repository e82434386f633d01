//! Empirical lower bounds on epsilon: does the code do what the certificate says?
//!
//! Takes pairs of neighbours ([`Pair`]), runs the real path on both (clip, quantise, project, perturb, encode), chooses
//! on one sample an event that one row makes likelier, counts it in another, and bounds the loss from below:
//! `epsilon >= ln((p_low - delta) / q_high)` with Clopper and Pearson's bounds. The chance that any bound of a run is
//! wrong is at most one minus the stated confidence: it is divided by the number of events that are counted. Screening
//! many pairs costs no confidence, because the samples that chose are not those that count.
//!
//! A bound above the claim proves the claim false. A bound below it proves nothing: an audit finds faults, it does not
//! show their absence; the proof is in the exact checks of each mechanism. Rows are made up; no private data is read.

mod attacks;
mod event;
mod interval;
mod neighbours;
mod run;
pub mod ways;

pub use attacks::{Averaging, AveragingStep, Counterexample, averaging, counterexample};
pub use neighbours::Pair;
pub use run::{Audit, Audited, WayFinding};

use event::{Event, Sample};
use rayon::prelude::*;
use scumble::entropy::NoEntropy;
use scumble::error::{Fault, Kind, LibraryError, ParameterError};
use scumble::files::{JobError, OpenError, ReadError};
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::plan::AskError;
use scumble::privacy::{Promise, Unit};
use scumble::projection::Seed;
use scumble::release::{Encoder, Encoding, ReleaseError, Releaser};
use scumble::vectors::{Range, Rows, Scalars};
use serde::Serialize;

/// Anything that releases rows under a claim: the real releaser, or a faulty one in a test.
pub trait Target: Sync {
    /// The mechanism that is claimed to run.
    fn claim(&self) -> &Mechanism;

    /// Numbers per row that a reader sees: k, unless something is published beside them.
    fn width(&self) -> usize {
        self.claim().k()
    }

    /// A row as the way in can hold it.
    fn seen(&self, row: &[f64]) -> Vec<f64> {
        row.to_vec()
    }

    /// How many releases of a few rows are worth their time.
    fn most_releases(&self) -> usize {
        MOST_RELEASES
    }

    /// Releases the rows and gives what a reader of the bytes sees: values, bits or symbols, `width` per row.
    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError>;
}

impl Target for Releaser {
    fn claim(&self) -> &Mechanism {
        self.mechanism()
    }

    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError> {
        let (encoder, k) = (self.encoder(), self.mechanism().k());
        let mut bytes = Vec::new();
        Releaser::release(self, rows, 0, |i| (i as u64).to_le_bytes().to_vec(), &mut bytes)?;
        let mut values = vec![0.0; rows.len() * k];
        let rows = bytes.chunks_exact(encoder.bytes_per_row()).zip(values.chunks_exact_mut(k));
        rows.for_each(|(bytes, out)| read_row(encoder, bytes, out));
        Ok(values)
    }
}

/// What a reader sees in the bytes of a row. Codes, not values: two symbols may stand for the same value.
fn read_row(encoder: &Encoder, bytes: &[u8], out: &mut [f32]) {
    match encoder.encoding() {
        Encoding::F32 => encoder.decode(bytes, out),
        Encoding::I16
        | Encoding::B8
        | Encoding::B4
        | Encoding::B1
        | Encoding::Symbols { .. }
        | Encoding::Word { .. } => {
            let mut codes = vec![0; out.len()];
            encoder.codes(bytes, &mut codes);
            out.iter_mut().zip(&codes).for_each(|(out, &code)| *out = code as f32);
        }
    }
}

/// How hard to look.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The chance that every bound of the run is right.
    pub confidence: f64,
    /// How many audits share that confidence.
    pub audits: usize,
    /// Samples of each row to choose an event with, and as many to count it in [`None`: by epsilon and size].
    pub samples: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { confidence: 0.999_999, audits: 1, samples: None }
    }
}

/// Pairs that get a full sample after the screening.
const FINALISTS: usize = 3;

/// Events that are counted: those of the finalists, and one beside a known row.
const COUNTED: usize = FINALISTS + 1;

/// Samples that may be asked for.
const FEWEST_SAMPLES: usize = 100;
const MOST_SAMPLES: usize = 10_000_000;

/// The most numbers held for one sample of one row.
const MOST_NUMBERS: usize = 1 << 24;

/// The most numbers drawn, or steps of about the same cost, for one sample of one row.
const MOST_WORK: usize = 1 << 26;

impl Settings {
    /// The chance of error that one count may have.
    fn alpha(&self) -> f64 {
        (1.0 - self.confidence) / (self.audits.max(1) * COUNTED * 2) as f64
    }

    fn check(&self) -> Result<(), AuditError> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(AuditError::Confidence { confidence: self.confidence });
        }
        match self.samples {
            Some(samples) if !(FEWEST_SAMPLES..=MOST_SAMPLES).contains(&samples) => {
                Err(AuditError::Samples { samples })
            }
            _ => Ok(()),
        }
    }

    /// A small epsilon needs counts that are exact to a tenth of it.
    fn samples(&self, mechanism: &Mechanism, epsilon: f64) -> usize {
        let (k, dim) = (mechanism.k(), mechanism.parameters().dim);
        let work = match mechanism.id() {
            MechanismId::Privcube => k * k / 6,
            _ if mechanism.projection().is_dense_matrix() => k * dim / 64,
            _ => k.max(dim / 8),
        };
        // One attribute enters every output of a dense matrix: the loss shows where all of them are in their tails.
        let base = if mechanism.projection().is_dense_matrix() { 180_000.0 } else { 60_000.0 };
        let wanted = base / epsilon.min(1.0).powi(2);
        let most = (MOST_NUMBERS / k.max(4)).min(MOST_WORK / work.max(8));
        self.samples.unwrap_or((wanted as usize).min(most)).max(FEWEST_SAMPLES)
    }
}

/// Why an audit could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The mechanism or the settings.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// What is asked for.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The certificate of a release.
    #[error(transparent)]
    Certificate(#[from] LibraryError),
    /// A confidence that is not valid.
    #[error("confidence must lie strictly between 0 and 1, got {confidence}")]
    Confidence {
        /// The confidence.
        confidence: f64,
    },
    /// Too few samples or too many.
    #[error("samples must be between {FEWEST_SAMPLES} and {MOST_SAMPLES}, got {samples}")]
    Samples {
        /// The samples.
        samples: usize,
    },
    /// A claim over the draw of the matrix, which is drawn once in an audit.
    #[error(
        "the delta of dp-signrp-rr is a chance over the draw of its matrix, which an audit holds fixed; leave ‹delta› out \
         to audit its pure form"
    )]
    OverTheMatrix,
    /// The release itself.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The release of a file.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Reading it back.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The audit's own files.
    #[error("{0}")]
    Io(String),
}

impl Fault for AuditError {
    fn kind(&self) -> Kind {
        match self {
            Self::Parameters(error) => error.kind(),
            Self::Ask(error) => error.kind(),
            Self::Certificate(error) => error.kind(),
            Self::Confidence { .. } | Self::Samples { .. } | Self::OverTheMatrix => Kind::Parameter,
            Self::Release(error) => error.kind(),
            Self::Job(error) => error.kind(),
            Self::Open(error) => error.kind(),
            Self::Io(_) => Kind::File,
        }
    }
}

impl From<ReadError> for AuditError {
    fn from(error: ReadError) -> Self {
        Self::Open(error.into())
    }
}

impl From<NoEntropy> for AuditError {
    fn from(error: NoEntropy) -> Self {
        Self::Release(error.into())
    }
}

impl From<std::io::Error> for AuditError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// What an audit says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No pair gave a bound above the claim.
    NotRefuted,
    /// A pair did: the code does not do what its certificate says.
    Broken,
    /// Individual DP: there is no claim between neighbours, and the certificate says so.
    NotPrivate,
}

/// The outcome of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Which mechanism.
    pub mechanism: MechanismId,
    /// Neighbours.
    pub unit: Unit,
    /// The claim (for individual DP: the number that the paper would print).
    pub epsilon: f64,
    /// Likewise; 0 for a pure claim.
    pub delta: f64,
    /// Epsilon is at least this, except with the chance that the settings allow.
    pub lower_bound: f64,
    /// The pair that gave it.
    pub pair: Pair,
    /// What moves between its rows, in words.
    pub change: String,
    /// Samples of each row in which the event was counted.
    pub samples: u64,
    /// How often it happened from the row that makes it likelier, and from the other.
    pub counts: [u64; 2],
    /// How many pairs were screened.
    pub pairs: usize,
    /// What follows.
    pub verdict: Verdict,
}

/// Audits a target.
pub fn audit(target: &dyn Target, settings: &Settings) -> Result<Finding, AuditError> {
    settings.check()?;
    let mechanism = target.claim();
    auditable(mechanism)?;
    let (epsilon, delta) = claimed(mechanism.promise());
    let n = settings.samples(mechanism, epsilon);
    let (beside, pairs): (Vec<Pair>, Vec<Pair>) =
        neighbours::pairs(mechanism, |row| target.seen(row)).into_iter().partition(|pair| pair.with_company);

    // Screen every pair with a small sample; how the ranking comes out cannot make a bound wrong.
    let deviations = (-2.0 * settings.alpha().ln()).sqrt();
    let mut screened = pairs
        .par_iter()
        .map(|pair| {
            let samples = draw(target, pair, (n / 16).clamp(1000, 16_000))?;
            Ok((Event::choose(&samples, &views(target, pair), delta, deviations).1, pair))
        })
        .collect::<Result<Vec<(f64, &Pair)>, AuditError>>()?;
    screened.sort_by(|a, b| b.0.total_cmp(&a.0));

    let mut best: Option<Finding> = None;
    // What rows share cannot be seen in one row's law, so the pair beside a known row is always counted.
    for pair in screened.into_iter().map(|(_, pair)| pair).take(FINALISTS).chain(&beside) {
        let chosen = Event::choose(&draw(target, pair, n)?, &views(target, pair), delta, deviations).0;
        let fresh = draw(target, pair, n)?;
        let counts = chosen.count(&fresh);
        let samples = fresh[0].len() as u64;
        let low = interval::at_least(counts.likelier, samples, settings.alpha());
        let high = interval::at_most(counts.other, samples, settings.alpha());
        let lower_bound = if low > delta { ((low - delta) / high).ln().max(0.0) } else { 0.0 };
        if best.as_ref().is_some_and(|best| best.lower_bound >= lower_bound) {
            continue;
        }
        best = Some(Finding {
            mechanism: mechanism.id(),
            unit: mechanism.parameters().unit,
            epsilon,
            delta,
            lower_bound,
            pair: pair.clone(),
            change: pair.change(),
            samples,
            counts: [counts.likelier, counts.other],
            pairs: pairs.len() + beside.len(),
            verdict: match mechanism.promise() {
                Promise::NotPrivate(_) => Verdict::NotPrivate,
                Promise::Private(_) if lower_bound > epsilon => Verdict::Broken,
                Promise::Private(_) => Verdict::NotRefuted,
            },
        });
    }
    Ok(best.expect("every unit has pairs"))
}

/// The matrix is drawn once in an audit, so a claim over its draw cannot be tested.
fn auditable(mechanism: &Mechanism) -> Result<(), AuditError> {
    let over_the_matrix = mechanism.id() == MechanismId::DpSignrpRr
        && mechanism.parameters().delta.is_some()
        && mechanism.parameters().unit != Unit::Record;
    match over_the_matrix {
        true => Err(AuditError::OverTheMatrix),
        false => Ok(()),
    }
}

fn claimed(promise: &Promise) -> (f64, f64) {
    match promise {
        Promise::Private(guarantee) => (guarantee.epsilon, guarantee.delta),
        Promise::NotPrivate(individual) => (individual.nominal_epsilon, individual.nominal_delta),
    }
}

/// Releases in samples that need a release each.
const MOST_RELEASES: usize = 4000;

/// The most known rows beside the audited one.
const MOST_COMPANY: usize = 8;

/// Releases both rows of a pair `n` times.
fn draw(target: &dyn Target, pair: &Pair, n: usize) -> Result<[Sample; 2], AuditError> {
    let dim = pair.rows[0].len();
    let one = |row: &[f64]| -> Result<Sample, AuditError> {
        let k = target.width();
        if !pair.with_company {
            // One row in memory, n rows to the releaser.
            let rows = Rows::strided(Scalars::F64(row), n, dim, 0, 1);
            return Ok(Sample { width: k, values: target.release(rows)? });
        }
        // Noise that two rows, two coordinates or two releases share shows in their differences.
        let block = [row, &pair.rows[0].repeat(MOST_COMPANY)].concat();
        let releases = (0..n.min(target.most_releases())).into_par_iter().map(|at| {
            // Few and many rows in turn: a releaser may treat them differently.
            let rows = if at % 2 == 0 { 2 } else { 1 + MOST_COMPANY };
            let released = target.release(Rows::dense(Scalars::F64(&block[..rows * dim]), dim))?;
            let (own, known) = released.split_at(k);
            let to_known = own.iter().zip(known).map(|(a, b)| a - b);
            let to_next = own.iter().zip(own.iter().cycle().skip(1)).map(|(a, b)| a - b);
            Ok(own.iter().copied().chain(to_known).chain(to_next).collect::<Vec<f32>>())
        });
        Ok(Sample { width: 3 * k, values: releases.collect::<Result<Vec<_>, AuditError>>()?.concat() })
    };
    Ok([one(&pair.rows[0])?, one(&pair.rows[1])?])
}

/// The groups of columns that are scored together.
fn views(target: &dyn Target, pair: &Pair) -> Vec<std::ops::Range<usize>> {
    let k = target.width();
    let count = if pair.with_company { 3 } else { 1 };
    (0..count).map(|row| row * k..(row + 1) * k).collect()
}

/// A small case of a mechanism, in which few outputs share the loss and samples show it.
pub fn small_case(id: MechanismId, epsilon: f64, beta: f64, range: Range, seed: Seed) -> Parameters {
    use MechanismId::*;
    let (dim, k) = match id {
        Privcube | Signcap => (8, 8),
        DpRpG | DpRpGAnalytic | DpRpGOpt | DpRpGOptB | DpRpL | DpSignrpRr | DpSignrpRrSmooth | DpSignrpCeil
        | SignDpRpGOptB => (8, 2),
        _ => (8, 4),
    };
    let mut parameters = Parameters::new(Required { mechanism: id, dim, k, epsilon, beta, range, seed });
    parameters.delta = default_delta(id);
    parameters.i_understand_this_is_not_dp = true;
    parameters
}

/// A delta that an audit can see: the event of a delta of 1e-6 would need a hundred million samples.
pub fn default_delta(id: MechanismId) -> Option<f64> {
    let gaussian = matches!(id, MechanismId::IdpSignrpG | MechanismId::IdpSignoporpG);
    (id.notion() == NotionKind::Approximate || gaussian).then_some(0.01)
}
