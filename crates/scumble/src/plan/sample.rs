//! Recall on rows that the operator offers: released and searched as they would be.

use super::forecast::{ROWS, TOP};
use super::{Choice, PlanError, ranks_by_exact_query, score};
use crate::recall::Features;
use crate::recall::{precision_recall, rankings, true_neighbours};
use crate::release::{Encoding, Release, ReleaseError, Releaser};
use crate::search::{ExactQueries, Queries, search};
use rayon::prelude::*;
use scumble_core::error::ParameterError;
use scumble_core::mechanism::Mechanism;
use scumble_core::noise::NoiseKey;
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

/// All on few rows; the best on as many as the forecast is for; the very best by many queries, to tell them apart.
const ROUNDS: [Round; 3] = [
    Round { rows: 1500, queries: 150, draws: 1, keep: 12 },
    Round { rows: ROWS as usize, queries: 150, draws: 2, keep: 4 },
    Round { rows: ROWS as usize, queries: 600, draws: 3, keep: 4 },
];

/// Most times that a choice is released in a round, however few queries there are.
const MOST_DRAWS: usize = 12;

/// What a trial found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Rows that were searched.
    pub rows: usize,
    /// Queries.
    pub queries: usize,
    /// Neighbours looked for.
    pub top: usize,
    /// Shares of them that were found.
    pub recall: MeasuredRecall,
}

impl Measured {
    /// True when it was measured on enough rows and queries to be expected of others: within a tenth.
    pub fn is_telling(&self) -> bool {
        self.rows >= 500 && self.queries >= 50
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

/// A sample with its true neighbours.
struct Trial<'a> {
    rows: Rows<'a>,
    queries: Rows<'a>,
    truth: Vec<Vec<u32>>,
    top: usize,
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

/// Releases and searches choices: all of them on few rows, then the best on many.
pub(super) fn tried(mut choices: Vec<Choice>, sample: Rows<'_>) -> Result<Vec<Choice>, PlanError> {
    for (number, round) in ROUNDS.iter().enumerate() {
        let trial = Trial::new(sample, round)?;
        let last = number + 1 == ROUNDS.len();
        // A small sample has fewer queries: they are asked more often.
        let draws = (round.draws * round.queries).div_ceil(trial.queries.len()).min(MOST_DRAWS);
        choices.par_iter_mut().try_for_each(|choice| {
            trial.run(&choice.mechanism, choice.encoding, draws, last).map(|m| choice.measured = Some(m))
        })?;
        choices.sort_by(|a, b| score(b).total_cmp(&score(a)));
        choices.truncate(round.keep);
    }
    Ok(choices)
}

impl<'a> Trial<'a> {
    fn new(sample: Rows<'a>, round: &Round) -> Result<Self, PlanError> {
        let n = sample.len();
        if n < 20 {
            let message = format!("‹sample› needs at least 20 rows to search in, got {n}");
            return Err(ParameterError::invalid(message).into());
        }
        let asked = round.queries.min(n / 10);
        let queries = sample.slice(n - asked, asked);
        let rows = sample.slice(0, (n - asked).min(round.rows));
        // A first look is as hard as the final: the same share of the rows, as far as a handful of neighbours tells.
        let largest = ((n - asked) as f64).min(ROWS);
        let top =
            ((rows.len() as f64 * TOP / largest).round() as usize).clamp(10, TOP as usize).min(rows.len().div_ceil(20));
        let truth = true_neighbours(&Features::from_rows(&rows), &Features::from_rows(&queries), top)?;
        Ok(Self { rows, queries, truth, top })
    }

    /// Measures both recalls if this is the last round, else only the one that choices are ranked by.
    fn run(&self, mechanism: &Mechanism, encoding: Encoding, draws: usize, last: bool) -> Result<Measured, PlanError> {
        let by_exact = ranks_by_exact_query(mechanism);
        let (mut private, mut exact_query) = (0.0, 0.0);
        for draw in 0..draws as u8 {
            // The same sample gives the same plan: nothing of a trial is released, so its noise needs no secret.
            let release = |key: u8, rows| {
                let releaser = Releaser::new(mechanism.clone(), Some(encoding))?.keyed(NoiseKey::from_bytes([key; 32]));
                Release::from_rows(&releaser, rows).map_err(fault)
            };
            let database = release(2 * draw, self.rows)?;
            let recall = |queries: Queries<'_>| -> Result<f64, PlanError> {
                let found = search(&database, queries, self.top, None)?;
                Ok(precision_recall(&rankings(found), &self.truth, &[self.top])[0].recall)
            };
            if last || !by_exact {
                private += recall(Queries::Released(&release(2 * draw + 1, self.queries)?))? / draws as f64;
            }
            if last || by_exact {
                exact_query += recall(Queries::Exact(&ExactQueries::project(mechanism, self.queries)?))? / draws as f64;
            }
        }
        let recall = MeasuredRecall { private, exact_query };
        Ok(Measured { rows: self.rows.len(), queries: self.queries.len(), top: self.top, recall })
    }
}

fn fault(error: ReleaseError) -> PlanError {
    match error {
        ReleaseError::Data(error) => error.into(),
        other => ParameterError::invalid(other.to_string()).into(),
    }
}
