//! Which mechanism, size, clip and encoding suit a request, and what to expect of them: before any budget is spent.
//!
//! [`plan`] reads public numbers only, so its result may be shown and used. [`plan_with_public`] also looks at PUBLIC rows:
//! it learns bins, components and a book from them, tries them, and its result is public too. [`plan_with_sample`] looks at
//! private rows: its result is as private as they are, and a choice made with it is outside the guarantee.

mod ask;
mod candidates;
mod forecast;
mod public;
mod read;
mod sample;
mod typical;
mod words;

pub use ask::{Ask, AskError, Described, described, parse_ask, with_content};
pub use forecast::{Flips, Forecast, StandardErrors};
pub use public::{Public, images_like, plan_with_public};
pub use read::PublicSample;
pub use sample::{Measured, MeasuredAccuracy, MeasuredRecall};
pub use words::LookedAt;

use crate::error::{DataError, Fault, Kind, LibraryError, ParameterError};
use crate::release::{Encoder, Encoding, ReleaseError};
use candidates::Candidate;
use rayon::prelude::*;
use sample::Sample;
use scumble_core::error::MechanismError;
use scumble_core::mechanism::{Mechanism, MechanismId, Parameters};
use scumble_core::parallel;
use scumble_core::privacy::Unit;
use scumble_core::vectors::Rows;
use typical::Typical;

/// What is fixed and what is left open.
#[derive(Debug, Clone)]
pub struct Request {
    /// The public inputs; `mechanism`, `k` and `sketch_clip` in it give way to what is left open here.
    pub parameters: Parameters,
    /// The mechanism, if it is fixed.
    pub mechanism: Option<MechanismId>,
    /// The size of the sketch, if it is fixed.
    pub k: Option<usize>,
    /// The encoding, if it is fixed.
    pub encoding: Option<Encoding>,
    /// Most bytes that a row may take.
    pub bytes: Option<usize>,
}

/// A choice with its forecast.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The mechanism, built and checked.
    pub mechanism: Mechanism,
    /// How rows are written.
    pub encoding: Encoding,
    /// What to expect.
    pub forecast: Forecast,
    /// What a simulation on a sample found, if there was one.
    pub measured: Option<Measured>,
}

/// The best choice and what it was chosen from.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What to take.
    pub best: Choice,
    /// The best choice of every mechanism and size, best first.
    pub others: Vec<Choice>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nothing on the menu can be built with these numbers.
    #[error(transparent)]
    Parameters(#[from] LibraryError),
    /// The sample cannot be used.
    #[error(transparent)]
    Sample(#[from] DataError),
    /// The plan is no longer wanted.
    #[error("stopped")]
    Stopped,
    /// A sample is too small to search in.
    #[error("‹sample› needs at least {least} rows to search in, got {rows}")]
    SampleTooSmall {
        /// Rows that the sample has.
        rows: usize,
        /// Rows that are needed.
        least: usize,
    },
    /// A public sample is too small to learn from.
    #[error("a public sample needs at least {least} rows, got {rows}")]
    PublicSampleTooSmall {
        /// Rows that the sample has.
        rows: usize,
        /// Rows that are needed.
        least: usize,
    },
    /// Labels that are not one per row.
    #[error("{found} labels for {rows} rows: each row needs one")]
    Labels {
        /// Number of labels.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// Every choice has more values per row than a trial learns from.
    #[error("a trial learns from at most {longest} values per row, and every choice has more")]
    TooLongToLearn {
        /// The most values.
        longest: usize,
    },
    /// Nothing on the menu is short enough.
    #[error("nothing fits {bytes} bytes per row; raise ‹bytes›")]
    NothingFits {
        /// Bytes that a row may take.
        bytes: usize,
    },
    /// What was asked for is longer.
    #[error("a row takes {bytes} bytes, more than the {most} allowed")]
    RowTooLong {
        /// Bytes that it takes.
        bytes: usize,
        /// Bytes that it may take.
        most: usize,
    },
    /// A trial on a sample could not be made.
    #[error(transparent)]
    Trial(ReleaseError),
    /// Not a known kind of data.
    #[error("{text:?} is not a known kind of data: write images:28x28, or images:32x32x3")]
    UnknownLike {
        /// What was written.
        text: String,
    },
}

impl From<ParameterError> for PlanError {
    fn from(error: ParameterError) -> Self {
        Self::Parameters(error.into())
    }
}

impl Fault for PlanError {
    fn kind(&self) -> Kind {
        match self {
            Self::Parameters(error) => error.kind(),
            Self::Sample(error) => error.kind(),
            Self::Stopped => Kind::Stopped,
            Self::SampleTooSmall { .. }
            | Self::PublicSampleTooSmall { .. }
            | Self::Labels { .. }
            | Self::TooLongToLearn { .. }
            | Self::NothingFits { .. }
            | Self::RowTooLong { .. }
            | Self::Trial(_)
            | Self::UnknownLike { .. } => Kind::Parameter,
        }
    }
}

/// Where bytes are not limited, a smaller row is taken when it keeps this share of the best recall.
const AS_GOOD: f64 = 0.99;

/// The best choice by public numbers alone.
pub fn plan(request: &Request) -> Result<Plan, PlanError> {
    let dim = request.parameters.dim;
    if dim == 0 || dim as u64 > 1 << 32 {
        return Err(ParameterError::from(MechanismError::Dim { dim }).into());
    }
    let typical = Typical::from_public(&request.parameters);
    let choices = parallel::run(|| forecasts(request, &typical))?;
    Ok(ranked(request, choices, |choice| score(choice) * reliance(choice)))
}

/// The recall (or accuracy, where a trial trained a model) that a choice is judged by: between private rows, but for
/// records with exact ones on the other side (two private records tell next to nothing about each other); as measured
/// where there was a sample.
pub fn score(choice: &Choice) -> f64 {
    let (private, exact_query) = match &choice.measured {
        Some(measured) => measured.shares(),
        None => (choice.forecast.recall.private, choice.forecast.recall.exact_query),
    };
    if ranks_by_exact_query(&choice.mechanism) { exact_query } else { private }
}

fn ranks_by_exact_query(mechanism: &Mechanism) -> bool {
    mechanism.parameters().unit == Unit::Record
}

/// Cuts, lattices, symbol values, clips and coarse codes are as good as the guess that they are taken from; a bit and
/// plain values need none. A choice that leans on the guess must promise this much more.
fn reliance(choice: &Choice) -> f64 {
    let coarse = match choice.encoding {
        Encoding::B8 | Encoding::B4 | Encoding::Symbols { .. } => true,
        Encoding::F32 | Encoding::I16 | Encoding::B1 | Encoding::Word { .. } => false,
    };
    if coarse || choice.mechanism.parameters().sketch_clip.is_some() { 0.93 } else { 1.0 }
}

/// The best choice on a sample of rows: the most promising forecasts are released and searched for real.
///
/// The result depends on the sample. Keep it as private as the sample is.
pub fn plan_with_sample(request: &Request, rows: Rows<'_>) -> Result<Plan, PlanError> {
    let typical = Typical::from_sample(rows, request.parameters.range)?;
    let tried = parallel::run(|| {
        let choices = sample::promising(forecasts(request, &typical)?);
        sample::tried(choices, Sample { rows, classes: None })
    })?;
    Ok(ranked(request, tried, score))
}

/// Builds and forecasts every candidate; clips are tried where they can pay.
fn forecasts(request: &Request, typical: &Typical) -> Result<Vec<Choice>, PlanError> {
    let menu = candidates::candidates(request);
    if menu.is_empty() {
        return Err(nothing_fits(request));
    }
    let built: Vec<Result<Choice, PlanError>> =
        menu.par_iter().map(|candidate| choice(candidate, typical, request)).collect();
    let clipped: Vec<Result<Choice, PlanError>> = built
        .par_iter()
        .filter_map(|choice| choice.as_ref().ok())
        .filter(|_| typical.informed)
        .flat_map_iter(|choice| {
            let parameters = choice.mechanism.parameters();
            let clips = candidates::clips(request, choice.mechanism.id(), choice.forecast.signal_deviation);
            clips.into_iter().map(|clip| {
                let parameters = Parameters { sketch_clip: Some(clip), ..parameters.clone() };
                self::choice(&Candidate { parameters, encoding: Some(choice.encoding) }, typical, request)
            })
        })
        .collect();
    let (mut choices, mut fault) = (Vec::new(), None);
    for result in built.into_iter().chain(clipped) {
        match result {
            Ok(choice) => choices.push(choice),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    match fault {
        Some(fault) if choices.is_empty() => Err(fault),
        _ => Ok(choices),
    }
}

fn nothing_fits(request: &Request) -> PlanError {
    PlanError::NothingFits { bytes: request.bytes.unwrap_or(0) }
}

fn choice(candidate: &Candidate, typical: &Typical, request: &Request) -> Result<Choice, PlanError> {
    let mechanism = Mechanism::new(candidate.parameters.clone())?;
    let encoder = Encoder::new(&mechanism, candidate.encoding)?;
    let bytes = encoder.bytes_per_row();
    if let Some(most) = request.bytes.filter(|&most| bytes > most) {
        return Err(PlanError::RowTooLong { bytes, most });
    }
    let forecast = Forecast::new(&mechanism, &encoder, typical)?;
    Ok(Choice { mechanism, encoding: encoder.encoding(), forecast, measured: None })
}

/// The smallest row among those that are as good as the best; then the best of every mechanism and size.
fn ranked(request: &Request, mut choices: Vec<Choice>, score: impl Fn(&Choice) -> f64) -> Plan {
    choices.sort_by(|a, b| score(b).total_cmp(&score(a)));
    // Anyone who says how many bytes there are wants them used.
    let share = if request.bytes.is_some() { 1.0 } else { AS_GOOD };
    let enough = share * score(&choices[0]);
    let as_good = choices.iter().take_while(|choice| score(choice) >= enough);
    let best = as_good.min_by_key(|choice| choice.forecast.bytes_per_row).expect("a plan has a choice").clone();
    let mut seen = Vec::new();
    let mut others = choices;
    others.retain(|choice| {
        let p = choice.mechanism.parameters();
        let learned = (p.bins.is_some(), p.components.is_some());
        let key = (choice.mechanism.id(), p.symbols, choice.mechanism.k(), learned);
        let new = !seen.contains(&key);
        seen.push(key);
        new
    });
    Plan { best, others }
}
