//! Trials on rows that may be looked at: released and searched, or learned from, as they would be.

use super::forecast::{ROWS, TOP};
use super::{Choice, PlanError, ranks_by_exact_query, score};
use crate::recall::Features;
use crate::recall::{precision_recall, rankings, true_neighbours};
use crate::release::{Encoding, Release, ReleaseError, Releaser};
use crate::search::{ExactQueries, Queries, search};
use crate::training::ridge::{self, Ridge};
use crate::training::{accuracy, classes_of};
use rayon::prelude::*;
use scumble_core::mechanism::Mechanism;
use scumble_core::noise::NoiseKey;
use scumble_core::parallel;
use scumble_core::vectors::Rows;
use serde::Serialize;

/// How many choices of a kind (mechanism, symbols, encoding) are tried, the most promising by forecast.
const OF_A_KIND: usize = 6;

/// A look at the choices that are left: how many rows are searched, by how many queries, how often each is released
/// (one draw of the noise is worth a hundredth of recall), and how many choices stay.
struct Round {
    rows: usize,
    queries: usize,
    draws: usize,
    keep: usize,
}

/// All on few rows; the best on as many as the forecast is for; the very best by many queries, to distinguish them.
const ROUNDS: [Round; 3] = [
    Round { rows: 1500, queries: 150, draws: 1, keep: 12 },
    Round { rows: ROWS as usize, queries: 150, draws: 2, keep: 4 },
    Round { rows: ROWS as usize, queries: 600, draws: 3, keep: 4 },
];

/// Longest rows that a model is trained on in a trial, most of them, and how many are tested for each query of a search.
const LONGEST_LEARNED: usize = 1024;
const MOST_LEARNED: usize = 4000;
const TESTED: usize = 4;

/// Most times that a choice is released in a round, however few queries there are.
const MOST_DRAWS: usize = 12;
/// The fewest rows that can be searched in.
const FEWEST: usize = 20;

/// Rows that may be looked at, with the classes that a model is to learn, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<'a> {
    pub rows: Rows<'a>,
    pub classes: Option<&'a [u32]>,
}

/// What a trial found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Measured {
    /// Rows were searched.
    Search {
        /// Rows that were searched.
        rows: usize,
        /// Queries.
        queries: usize,
        /// Neighbours looked for.
        top: usize,
        /// Shares of them that were found.
        recall: MeasuredRecall,
    },
    /// A classifier was trained.
    Training {
        /// Rows that it was trained on.
        rows: usize,
        /// Rows that it was tested on.
        tested: usize,
        /// Shares of them whose class it found.
        accuracy: MeasuredAccuracy,
    },
}

impl Measured {
    /// True when it was measured on enough rows to be expected of others: within a tenth.
    pub fn is_telling(&self) -> bool {
        match *self {
            Self::Search { rows, queries, .. } => rows >= 500 && queries >= 50,
            Self::Training { rows, tested, .. } => rows >= 500 && tested >= 100,
        }
    }

    /// What choices are judged by: between private rows, and with exact ones on the other side.
    pub fn shares(&self) -> (f64, f64) {
        match self {
            Self::Search { recall, .. } => (recall.private, recall.exact_query),
            Self::Training { accuracy, .. } => (accuracy.private, accuracy.exact_rows),
        }
    }
}

/// Shares of the true neighbours that were found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredRecall {
    /// Rows and queries released.
    pub private: f64,
    /// Rows released, queries exact.
    pub exact_query: f64,
}

/// Shares of the rows whose class was found by a model that was trained on released rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredAccuracy {
    /// The rows asked about are released too.
    pub private: f64,
    /// The rows asked about are exact.
    pub exact_rows: f64,
    /// Trained and tested on the rows as they are, where they are dense and not too long.
    pub without_privacy: Option<f64>,
}

/// A part of the sample stands for the private rows, another for those that are asked about.
struct Trial<'a> {
    rows: Rows<'a>,
    asked: Rows<'a>,
    task: Task<'a>,
}

enum Task<'a> {
    /// Find the nearest rows.
    Search { truth: Vec<Vec<u32>>, top: usize },
    /// Learn the classes of rows, find those of others.
    Training { classes: &'a [u32], truth: &'a [u32], without_privacy: Option<f64> },
}

/// The most promising choices by forecast, a few of each kind.
pub(super) fn promising(mut choices: Vec<Choice>) -> Vec<Choice> {
    choices.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let mut kinds: Vec<_> = Vec::new();
    choices.retain(|choice| {
        let kind = (choice.mechanism.id(), choice.mechanism.parameters().symbols, choice.encoding);
        kinds.push(kind);
        kinds.iter().filter(|&&other| other == kind).count() <= OF_A_KIND
    });
    choices
}

/// Releases choices and tries what they are for: all of them on few rows, then the best on many.
pub(super) fn tried(mut choices: Vec<Choice>, sample: Sample<'_>) -> Result<Vec<Choice>, PlanError> {
    if sample.classes.is_some() {
        choices.retain(|choice| choice.mechanism.k() <= LONGEST_LEARNED);
        if choices.is_empty() {
            return Err(PlanError::TooLongToLearn { longest: LONGEST_LEARNED });
        }
    }
    for (number, round) in ROUNDS.iter().enumerate() {
        let last = number + 1 == ROUNDS.len();
        let trial = Trial::new(sample, round, last)?;
        // A small sample has fewer queries: they are asked more often.
        let draws = (round.draws * round.queries).div_ceil(trial.asked.len()).min(MOST_DRAWS);
        choices.par_iter_mut().try_for_each(|choice| {
            trial.run(&choice.mechanism, choice.encoding, draws, last).map(|m| choice.measured = Some(m))
        })?;
        choices.sort_by(|a, b| score(b).total_cmp(&score(a)));
        choices.truncate(round.keep);
    }
    Ok(choices)
}

impl<'a> Trial<'a> {
    fn new(sample: Sample<'a>, round: &Round, last: bool) -> Result<Self, PlanError> {
        let n = sample.rows.len();
        if n < FEWEST {
            return Err(PlanError::SampleTooSmall { rows: n, least: FEWEST });
        }
        let part = |asked: usize, most: usize| {
            (sample.rows.slice(0, (n - asked).min(most)), sample.rows.slice(n - asked, asked))
        };
        let Some(all) = sample.classes else {
            let asked = round.queries.min(n / 10);
            let (rows, asked) = part(asked, round.rows);
            // A first look is as hard as the final: the same share of the rows, as far as a handful of neighbours tells.
            let largest = ((n - asked.len()) as f64).min(ROWS);
            let top = ((rows.len() as f64 * TOP / largest).round() as usize)
                .clamp(10, TOP as usize)
                .min(rows.len().div_ceil(20));
            let truth = true_neighbours(&Features::from_rows(&rows), &Features::from_rows(&asked), top)?;
            wanted()?;
            return Ok(Self { rows, asked, task: Task::Search { truth, top } });
        };
        let (rows, asked) = part((TESTED * round.queries).min(n / 4), round.rows.min(MOST_LEARNED));
        let (classes, truth) = (&all[..rows.len()], &all[n - asked.len()..]);
        let (exact, tested) = (Features::from_rows(&rows), Features::from_rows(&asked));
        classes_of(&exact, classes)?; // two at least
        let short = last && rows.dim() <= LONGEST_LEARNED;
        let without_privacy = if short { ridge::train_and_test((&exact, classes), (&tested, truth))? } else { None };
        Ok(Self { rows, asked, task: Task::Training { classes, truth, without_privacy } })
    }

    /// Measures both shares if this is the last round, else only the one that choices are ranked by.
    fn run(&self, mechanism: &Mechanism, encoding: Encoding, draws: usize, last: bool) -> Result<Measured, PlanError> {
        let by_exact = ranks_by_exact_query(mechanism);
        let (mut private, mut exact) = (0.0, 0.0);
        for draw in 0..draws as u8 {
            // The same sample gives the same plan: nothing of a trial is released, so its noise needs no secret.
            let release = |key: u8, rows| {
                let releaser = Releaser::new(mechanism.clone(), Some(encoding))?.keyed(NoiseKey::from_bytes([key; 32]));
                Release::from_rows(&releaser, rows).map_err(fault)
            };
            wanted()?;
            let database = release(2 * draw, self.rows)?;
            let learner = Learner::new(&self.task, &database)?;
            if last || !by_exact {
                let asked = release(2 * draw + 1, self.asked)?;
                private += learner.share_of_released(&asked)? / draws as f64;
            }
            if last || by_exact {
                exact += learner.share_of_exact(mechanism, self.asked)? / draws as f64;
            }
        }
        Ok(match self.task {
            Task::Search { top, .. } => {
                let recall = MeasuredRecall { private, exact_query: exact };
                Measured::Search { rows: self.rows.len(), queries: self.asked.len(), top, recall }
            }
            Task::Training { without_privacy, .. } => {
                let accuracy = MeasuredAccuracy { private, exact_rows: exact, without_privacy };
                Measured::Training { rows: self.rows.len(), tested: self.asked.len(), accuracy }
            }
        })
    }
}

/// What a consumer does with a release.
enum Learner<'a> {
    Search { database: &'a Release, truth: &'a [Vec<u32>], top: usize },
    Training { model: Ridge, k: usize, truth: &'a [u32] },
}

impl<'a> Learner<'a> {
    fn new(task: &'a Task<'a>, database: &'a Release) -> Result<Self, PlanError> {
        Ok(match task {
            Task::Search { truth, top } => Self::Search { database, truth, top: *top },
            Task::Training { classes, truth, .. } => {
                let k = database.k();
                let rows = Features::dense(database.all_values(), k);
                let model = Ridge::fit(&rows, classes)?.expect("dense rows that are short enough");
                Self::Training { model, k, truth }
            }
        })
    }

    /// The share that is found with released rows: of the true neighbours, or of the classes.
    fn share_of_released(&self, asked: &Release) -> Result<f64, PlanError> {
        match self {
            Self::Search { database, truth, top } => recall(database, Queries::Released(asked), truth, *top),
            Self::Training { model, k, truth } => Ok(told_right(model, asked.all_values(), *k, truth)),
        }
    }

    /// The same with rows that their owner keeps. A model takes them on the scale of what it was trained on.
    fn share_of_exact(&self, mechanism: &Mechanism, asked: Rows<'_>) -> Result<f64, PlanError> {
        match self {
            Self::Search { database, truth, top } => {
                recall(database, Queries::Exact(&ExactQueries::project(mechanism, asked)?), truth, *top)
            }
            Self::Training { model, k, truth } => Ok(told_right(model, mechanism.expected_rows(asked)?, *k, truth)),
        }
    }
}

fn recall(database: &Release, asked: Queries<'_>, truth: &[Vec<u32>], top: usize) -> Result<f64, PlanError> {
    let found = search(database, asked, top, None)?;
    wanted()?;
    Ok(precision_recall(&rankings(found), truth, &[top])[0].recall)
}

fn told_right(model: &Ridge, values: Vec<f32>, k: usize, truth: &[u32]) -> f64 {
    accuracy(&model.predict(&Features::dense(values, k)), truth)
}

/// Refuses to go on with work that is no longer wanted: what it has found may be incomplete.
fn wanted() -> Result<(), PlanError> {
    if parallel::stopped() { Err(PlanError::Stopped) } else { Ok(()) }
}

fn fault(error: ReleaseError) -> PlanError {
    match error {
        ReleaseError::Data(error) => error.into(),
        other => PlanError::Trial(other),
    }
}
