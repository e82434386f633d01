//! How a run ends: 0 done, 1 refused, 2 error, and one line on standard error.

use crate::print;
use scumble::error::{LibraryError, ParameterError, worded};
use scumble::files::{JobError, OpenError, ReadError, WriteError};
use scumble::ledger::LedgerError;
use scumble::plan::{AskError, PlanError};

/// The exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for was done.
    Done = 0,
    /// Refused: not private, over budget, not identifiable, or a check failed.
    Refused = 1,
    /// Wrong use, unreadable input, output that cannot be written.
    Error = 2,
}

/// Why a run ended early, in one line that says what to do.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// Exit status 2.
    pub fn error(message: impl Into<String>) -> Self {
        Self { exit: Exit::Error, message: worded(&message.into(), flag) }
    }

    /// Exit status 1.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, message: worded(&message.into(), flag) }
    }

    /// Prints the line.
    pub fn report(&self) -> Exit {
        print::say(&format!("scumble: {}", self.message));
        self.exit
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::error(error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Read(error) => error.into(),
            OpenError::Release { .. } => Self::refused(error.to_string()),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        if error.is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::error(error.to_string())
    }
}

impl From<scumble::entropy::NoEntropy> for Failure {
    fn from(error: scumble::entropy::NoEntropy) -> Self {
        Self::error(error.to_string())
    }
}

/// What a parameter or an action of the library is called here.
pub fn flag(name: &str) -> String {
    match name.strip_suffix("()") {
        Some("make_book") => "scumble book".to_owned(),
        Some(action) => format!("scumble {}", action.replace('_', " ")),
        None if name.len() == 1 => format!("-{name}"),
        None => format!("--{}", name.replace('_', "-")),
    }
}
