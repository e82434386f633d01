//! A plan with public knowledge: rows that may be looked at, or the shape of images.
//!
//! Structure is learned from one half of the public rows and tried on the other, so that what is expected of it is not
//! what it was fitted to. What is chosen is then learned from all of them. Nothing here reads a private row.

use super::candidates::{of_records, with_bins};
use super::sample::{Sample, promising, tried};
use super::typical::Typical;
use super::{Choice, Plan, PlanError, Request, choice, forecasts, nothing_fits, plan, ranked, score};
use crate::error::LibraryError;
use crate::plan::candidates::Candidate;
use crate::recall::Features;
use crate::structure::{BOOK_WORDS, BinsOptions, Coherence, learn_bins, learn_components, make_book};
use rayon::prelude::*;
use scumble_core::mechanism::{MechanismId, Parameters, Purpose};
use scumble_core::parallel;
use scumble_core::privacy::Unit;
use scumble_core::projection::{ImageGrid, Partition, TableFile};
use scumble_core::vectors::Rows;

/// Fewest public rows: half of them are searched.
const FEWEST: usize = 40;
/// Most rows that structure is learned from in a trial.
const LEARNED_FROM: usize = 4000;
/// Rows that a forecast looks at before the trial.
const GLANCE: usize = 64;
/// Recalls or accuracies that a trial of some hundred queries cannot tell apart.
const TOO_CLOSE: f64 = 0.02;
/// Most bins that are tried.
const MOST_BINS: usize = 2048;
/// Numbers of components that are tried.
const COMPONENTS: [usize; 3] = [64, 96, 128];
/// Blocks along a side of an image that are tried.
const SIDES: [usize; 11] = [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 28];

/// Public knowledge beyond numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Public<'a> {
    /// Rows that may be looked at, and are not among those that will be released.
    pub sample: Option<Rows<'a>>,
    /// The class of each of them, if the release is for training: a model is then trained where rows would be searched.
    pub classes: Option<&'a [u32]>,
    /// The shape of the images that the rows are.
    pub images: Option<ImageGrid>,
}

impl Public<'_> {
    /// True when nothing is known beyond numbers.
    pub fn is_nothing(&self) -> bool {
        self.sample.is_none() && self.images.is_none()
    }
}

/// The shape of `images:28x28` or `images:32x32x3`.
pub fn images_like(text: &str) -> Result<ImageGrid, PlanError> {
    let grid = text.strip_prefix("images:").and_then(|sides| format!("grid:{sides}").parse().ok());
    grid.ok_or_else(|| PlanError::UnknownLike { text: text.into() })
}

/// The best choice by public knowledge: by trial where there are rows, by rule for images, by numbers otherwise.
pub fn plan_with_public(request: &Request, public: Public<'_>) -> Result<Plan, PlanError> {
    match public {
        Public { sample: Some(rows), classes, images } => {
            parallel::run(|| by_trial(request, Sample { rows, classes }, images))
        }
        Public { sample: None, images: Some(grid), .. } => by_rule(request, grid),
        Public { sample: None, images: None, .. } => plan(request),
    }
}

/// Blocks of pixels with plain noise, as many as suit epsilon and the bytes.
fn by_rule(request: &Request, grid: ImageGrid) -> Result<Plan, PlanError> {
    let takes_blocks = request.parameters.unit != Unit::Record && request.parameters.bins.is_none();
    if !takes_blocks {
        return plan(request);
    }
    let suggested = request.k.unwrap_or_else(|| grid.suggested_k(request.parameters.epsilon));
    let smaller = SIDES.into_iter().rev().map(|side| side * side).filter(|k| request.k.is_none() && *k < suggested);
    let mut fault = nothing_fits(request);
    for k in std::iter::once(suggested).chain(smaller) {
        let mechanism = request.mechanism.or(Some(MechanismId::DpOporpStaircase));
        let parameters = Parameters { bins: Some(Partition::Grid(grid)), ..request.parameters.clone() };
        match plan(&Request { parameters, mechanism, k: Some(k), ..request.clone() }) {
            Ok(plan) => return Ok(plan),
            Err(error) => fault = error,
        }
    }
    Err(fault)
}

fn by_trial(request: &Request, sample: Sample<'_>, images: Option<ImageGrid>) -> Result<Plan, PlanError> {
    let rows = sample.rows;
    if rows.len() < FEWEST {
        return Err(PlanError::PublicSampleTooSmall { rows: rows.len(), least: FEWEST });
    }
    let mut request = request.clone();
    if let Some(classes) = sample.classes {
        if classes.len() != rows.len() {
            return Err(PlanError::Labels { found: classes.len(), rows: rows.len() });
        }
        if request.parameters.unit == Unit::Record {
            request.parameters.purpose.get_or_insert(Purpose::Training);
        }
    }
    let request = &request;
    let all = Features::from_rows(&rows);
    let order = all.shuffled_order(); // files are often sorted
    let (taught, asked) = order.split_at((rows.len() / 2).min(LEARNED_FROM));
    let classes: Option<Vec<u32>> = sample.classes.map(|classes| asked.iter().map(|&row| classes[row]).collect());
    let (taught, asked) = (all.select(taught), all.select(asked));
    // A forecast only picks what is tried: a glance is enough.
    let typical = Typical::from_sample(asked.rows().slice(0, GLANCE.min(asked.len())), request.parameters.range)?;
    let mut choices = promising(forecasts(request, &typical)?);
    let built: Vec<Choice> = structured(request, taught.rows(), images)
        .par_iter()
        .filter_map(|candidate| choice(candidate, &typical, request).ok()) // what cannot be built is not a choice
        .collect();
    choices.extend(built);
    let by_numbers = plan(request)?.best;
    let same = |choice: &Choice| {
        choice.mechanism.parameters() == by_numbers.mechanism.parameters() && choice.encoding == by_numbers.encoding
    };
    if !choices.iter().any(same) {
        choices.push(by_numbers.clone());
    }
    let tried = tried(choices, Sample { rows: asked.rows(), classes: classes.as_deref() })?;
    // What the numbers alone say stands unless the trial is clearly against it.
    let standing = tried.iter().find(|choice| same(choice)).cloned();
    let mut plan = ranked(request, tried, score);
    let best = plan.best;
    let best = standing.filter(|standing| score(standing) >= score(&best) - TOO_CLOSE).unwrap_or(best);
    plan.best = learned_from_all(best, rows, &typical, request)?;
    Ok(plan)
}

/// The choices that public rows add to the menu.
fn structured(request: &Request, taught: Rows<'_>, images: Option<ImageGrid>) -> Vec<Candidate> {
    let p = &request.parameters;
    if p.bins.is_some() || p.components.is_some() || p.book.is_some() {
        return Vec::new(); // the caller has chosen
    }
    if p.unit != Unit::Record {
        return with_bins(request, &partitions(request, taught, images));
    }
    let table = |table: Result<_, LibraryError>| table.ok().map(TableFile::of);
    let components: Vec<TableFile> =
        COMPONENTS.into_iter().filter_map(|k| table(learn_components(taught, k))).collect();
    of_records(request, &components, table(make_book(taught, BOOK_WORDS)).as_ref())
}

/// Bins of every size: blocks of an image, and those that the rows teach.
fn partitions(request: &Request, taught: Rows<'_>, images: Option<ImageGrid>) -> Vec<(usize, Partition)> {
    let fixed = request.k.map(|k| vec![k]);
    let blocks = images.into_iter().flat_map(|grid| {
        let sizes = fixed.clone().unwrap_or_else(|| SIDES.map(|side| side * side).to_vec());
        let fits = move |k: &usize| grid.dim() == taught.dim() && grid.bins(*k).is_ok();
        sizes.into_iter().filter(fits).map(move |k| (k, Partition::Grid(grid)))
    });
    let largest = (taught.dim() / 2).min(MOST_BINS);
    let ladder = (3..=11).flat_map(|octave| [1usize << octave, 3 << (octave - 1)]).filter(|k| *k <= largest);
    let sizes = fixed.clone().unwrap_or_else(|| ladder.collect());
    let learned = Coherence::learn(taught, None).ok().into_iter().flat_map(|coherence| {
        let bins = |k: &usize| coherence.bins(*k).ok().map(|bins| (*k, Partition::of(&bins)));
        sizes.par_iter().filter_map(bins).collect::<Vec<_>>()
    });
    blocks.chain(learned).collect()
}

/// The same choice with its structure learned from every public row, as the verbs `bins`, `components` and `book` do.
fn learned_from_all(best: Choice, rows: Rows<'_>, typical: &Typical, request: &Request) -> Result<Choice, PlanError> {
    let mut parameters = best.mechanism.parameters().clone();
    let before = &request.parameters;
    if matches!(parameters.bins, Some(Partition::File(_))) && before.bins.is_none() {
        parameters.bins = Some(Partition::of(&learn_bins(rows, BinsOptions::new(parameters.k))?));
    }
    if parameters.components.is_some() && before.components.is_none() {
        parameters.components = Some(TableFile::of(learn_components(rows, parameters.k)?));
    }
    if parameters.book.is_some() && before.book.is_none() {
        parameters.book = Some(TableFile::of(make_book(rows, BOOK_WORDS)?));
    }
    let candidate = Candidate { parameters, encoding: Some(best.encoding) };
    Ok(Choice { measured: best.measured, ..choice(&candidate, typical, request)? })
}
