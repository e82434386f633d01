//! Recall on rows that the operator offers: released and searched as they would be.

use super::PlanError;
use crate::error::ParameterError;
use crate::evaluate::Features;
use crate::evaluate::retrieval::{precision_recall, true_neighbours};
use crate::mechanism::Mechanism;
use crate::release::{Encoding, Release, ReleaseError, Releaser};
use crate::search::{ExactQueries, Hit, Queries, search};
use crate::vectors::Rows;
use serde::Serialize;

/// How many of the most promising choices are tried.
pub(super) const TRIALS: usize = 12;

/// Rows searched in a trial: enough for a ranking, few enough for seconds.
const SEARCHED: usize = 5000;
/// Queries of a trial.
const QUERIES: usize = 100;

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

/// Shares of the true neighbours that were found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredRecall {
    /// Rows and queries released.
    pub private: f64,
    /// Rows released, queries exact.
    pub exact_query: f64,
}

/// A sample with its true neighbours.
pub(super) struct Trial<'a> {
    rows: Rows<'a>,
    queries: Rows<'a>,
    truth: Vec<Vec<u32>>,
    top: usize,
}

impl<'a> Trial<'a> {
    pub fn new(sample: Rows<'a>) -> Result<Self, PlanError> {
        let n = sample.len();
        if n < 20 {
            let message = format!("--sample needs at least 20 rows to search in, got {n}");
            return Err(ParameterError::invalid(message).into());
        }
        let asked = QUERIES.min(n / 10);
        let queries = sample.slice(n - asked, asked);
        let rows = sample.slice(0, (n - asked).min(SEARCHED));
        let top = 50.min(rows.len() / 20).max(1);
        let truth = true_neighbours(&Features::from_rows(&rows), &Features::from_rows(&queries), top)?;
        Ok(Self { rows, queries, truth, top })
    }

    pub fn run(&self, mechanism: &Mechanism, encoding: Encoding) -> Result<Measured, PlanError> {
        let releaser = Releaser::new(mechanism.clone(), Some(encoding))?;
        let release = |rows| Release::from_rows(&releaser, rows).map_err(fault);
        let (database, queries) = (release(self.rows)?, release(self.queries)?);
        let exact = ExactQueries::project(mechanism, self.queries)?;
        let recall = |queries| -> Result<f64, PlanError> {
            let found = search(&database, queries, self.top, None)?;
            let rankings: Vec<Vec<u32>> = found.iter().map(|hits| hits.iter().map(row).collect()).collect();
            Ok(precision_recall(&rankings, &self.truth, &[self.top])[0].recall)
        };
        let recall = MeasuredRecall {
            private: recall(Queries::Released(&queries))?,
            exact_query: recall(Queries::Exact(&exact))?,
        };
        Ok(Measured { rows: self.rows.len(), queries: self.queries.len(), top: self.top, recall })
    }
}

fn row(hit: &Hit) -> u32 {
    hit.row as u32
}

fn fault(error: ReleaseError) -> PlanError {
    match error {
        ReleaseError::Data(error) => error.into(),
        ReleaseError::NoEntropy(error) => ParameterError::invalid(error.to_string()).into(),
    }
}
