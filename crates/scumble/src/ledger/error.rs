//! What a ledger refuses, and what is wrong with one.

use crate::accounting::{Budget, Loss, Neighbours};
use crate::error::{Fault, Kind, LibraryError};
use scumble_core::privacy::Unit;
use std::path::PathBuf;
use thiserror::Error;

/// Why the ledger did not do what it was asked. Public numbers only.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A number out of its domain, or a mechanism that is not private.
    #[error(transparent)]
    Parameter(#[from] LibraryError),
    /// More than what is left.
    #[error(transparent)]
    OverBudget(Box<OverBudget>),
    /// A second budget for the same rows would be no budget: a name must not look like another.
    #[error(
        "refused: the name '{asked}' resembles '{other}', which is in this ledger; use that name, or one that differs more"
    )]
    Resembles {
        /// The new name.
        asked: String,
        /// The name that is there.
        other: String,
    },
    /// The release is for a smaller unit than the account.
    #[error(
        "refused: data set '{dataset}' keeps a budget for unit {kept}, and a release for unit {released} protects less. \
         Instead: ‹unit› {kept}"
    )]
    ProtectsLess {
        /// The data set.
        dataset: String,
        /// The account's unit.
        kept: Unit,
        /// The release's unit.
        released: Unit,
    },
    /// The account's budget is pure, the release is not.
    #[error(
        "refused: the budget of data set '{dataset}' has no delta, and this release needs {delta:e}. Instead: a pure \
         mechanism, or a data set whose budget has a ‹budget_delta›"
    )]
    NoDelta {
        /// The data set.
        dataset: String,
        /// What the release needs.
        delta: f64,
    },
    /// Not a name for a data set.
    #[error("a data set's name has 1 to {longest} printable characters")]
    Name {
        /// The most characters.
        longest: usize,
    },
    /// A row of the ledger that no release has written.
    #[error("the ledger was altered: data set '{dataset}' has an entry that no release could have; restore a backup")]
    Altered {
        /// The data set.
        dataset: String,
    },
    /// A letter that is drawn like another.
    #[error(
        "a data set's name has the letter '{letter}', which looks like another: write letters that people use for names"
    )]
    Letter {
        /// The letter.
        letter: char,
    },
    /// The first use of a data set fixes its budget.
    #[error("data set '{dataset}' is new to this ledger: give ‹budget›, which stays fixed")]
    NoBudget {
        /// The data set.
        dataset: String,
    },
    /// The account was opened with another budget.
    #[error(
        "data set '{dataset}' has a budget of {}, fixed at its first use; ‹budget› says {}",
        budget_words(.kept), budget_words(.asked)
    )]
    OtherBudget {
        /// The data set.
        dataset: String,
        /// Its budget.
        kept: Budget,
        /// What was asked for now.
        asked: Budget,
    },
    /// The account was opened for other neighbours.
    #[error("data set '{dataset}' keeps {}", kept.sentence())]
    OtherNeighbours {
        /// The data set.
        dataset: String,
        /// What it keeps.
        kept: Neighbours,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Fault for LedgerError {
    fn kind(&self) -> Kind {
        match self {
            Self::Parameter(error) => error.kind(),
            Self::OverBudget(_) => Kind::OverBudget,
            Self::Resembles { .. } => Kind::Refused,
            Self::ProtectsLess { .. } | Self::NoDelta { .. } => Kind::NotPrivate,
            Self::Name { .. }
            | Self::Letter { .. }
            | Self::NoBudget { .. }
            | Self::OtherBudget { .. }
            | Self::OtherNeighbours { .. } => Kind::Parameter,
            Self::Altered { .. } | Self::Storage(_) => Kind::File,
        }
    }
}

/// Why the file of a ledger cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The system or SQLite refuses.
    #[error("{}: {message}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it says.
        message: String,
    },
    /// There is no such file.
    #[error("{}: {message}; ‹ledger_init()› makes one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// A file of another kind.
    #[error("{}: not a ledger", path.display())]
    NotALedger {
        /// The file.
        path: PathBuf,
    },
    /// Another version.
    #[error("{}: ledger version {found}, but this program knows {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The one that is known.
        known: i64,
    },
    /// SQLite's own check failed.
    #[error("{}: damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// What was reserved for a release is gone.
    #[error("the reservation is gone; nothing was released")]
    NoReservation,
}

/// Why a statement is not to be believed.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StatementError {
    /// Not a statement at all.
    #[error("not a ledger's statement: {0}")]
    Text(String),
    /// Another version.
    #[error("the statement does not add up: schema is not {known}")]
    Schema {
        /// The one that is known.
        known: &'static str,
    },
    /// A budget that no account can have.
    #[error(transparent)]
    Budget(#[from] LibraryError),
    /// A distance that is not valid.
    #[error("the statement does not add up: '{dataset}' has a beta that is not positive")]
    Beta {
        /// The data set.
        dataset: String,
    },
    /// A state or a loss that is not valid.
    #[error("the statement does not add up: '{dataset}' has an entry that no release could have")]
    Entry {
        /// The data set.
        dataset: String,
    },
    /// Adding up takes time.
    #[error("the statement does not add up: '{dataset}' has more than {most} runs")]
    Runs {
        /// The data set.
        dataset: String,
        /// The most.
        most: u64,
    },
    /// Sums other than the stated ones.
    #[error("the statement does not add up: '{dataset}' has spent {spent} and has {left} left")]
    Sums {
        /// The data set.
        dataset: String,
        /// What the entries add up to.
        spent: f64,
        /// What that leaves.
        left: f64,
    },
    /// More spent than there was.
    #[error("the statement does not add up: '{dataset}' is over its budget")]
    OverBudget {
        /// The data set.
        dataset: String,
    },
}

/// What is spent, asked and left.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "refused: data set '{dataset}' has a budget of {}, {} of it spent in {releases} releases; this release asks for {} \
     and at most epsilon {} is left (unit {unit})",
    budget_words(.budget), short(*.spent), asked_words(.asked, *.times), short(*.left)
)]
pub struct OverBudget {
    /// The data set.
    pub dataset: String,
    /// Its budget.
    pub budget: Budget,
    /// Epsilon of all releases so far, at the budget's delta.
    pub spent: f64,
    /// Releases so far.
    pub releases: usize,
    /// What one run of this release costs.
    pub asked: Loss,
    /// How many runs.
    pub times: u64,
    /// The largest epsilon that one more pure release may have.
    pub left: f64,
    /// The account's unit.
    pub unit: Unit,
}

pub(super) fn budget_words(budget: &Budget) -> String {
    match budget.delta {
        0.0 => format!("epsilon {}", budget.epsilon),
        delta => format!("epsilon {} at delta {delta:e}", budget.epsilon),
    }
}

fn asked_words(asked: &Loss, times: u64) -> String {
    match times {
        1 => asked.words(),
        times => format!("{times} times {}", asked.words()),
    }
}

/// Six digits after the point are enough for people.
pub(super) fn short(epsilon: f64) -> f64 {
    (epsilon * 1e6).round() / 1e6
}
