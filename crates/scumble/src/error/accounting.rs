//! Numbers that no account can have.

use thiserror::Error;

/// A budget, or the rows of a person.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum AccountingError {
    #[error("the budget must be a positive epsilon, got {epsilon}")]
    BudgetEpsilon { epsilon: f64 },
    #[error("the budget's delta must be at least 0 and below 1, got {delta}")]
    BudgetDelta { delta: f64 },
    #[error("beta must be positive and finite")]
    Beta,
    #[error("unit record has no beta: any row may stand for any other")]
    RecordWithBeta,
    #[error("rows per person must be at least 1 and at most {most}, got {rows}")]
    RowsPerPerson { rows: usize, most: usize },
    #[error("{rows} rows of a person have no epsilon at a delta of {delta:e}; a delta of {enough:e} has one")]
    PersonDelta { rows: usize, delta: f64, enough: f64 },
}
