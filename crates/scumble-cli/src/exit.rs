//! How a run ends: 0 done, 1 refused, 2 error, and one line on standard error.

use crate::print;
use scumble::error::{Fault, worded};
use std::fmt::Display;
use std::path::Path;

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

    /// Exit status 2, for a fault of a file.
    pub fn of_file(path: &Path, error: impl Display) -> Self {
        Self::error(format!("{}: {error}", path.display()))
    }

    /// Prints the line.
    pub fn report(&self) -> Exit {
        print::say(&format!("scumble: {}", self.message));
        self.exit
    }
}

impl<E: Fault> From<E> for Failure {
    fn from(error: E) -> Self {
        if error.kind().is_refusal() { Self::refused(error.to_string()) } else { Self::error(error.to_string()) }
    }
}

/// What a parameter or an action of the library is called here.
pub fn flag(name: &str) -> String {
    match name.strip_suffix("()") {
        None if name == "purpose" => "--for".to_owned(),
        Some("make_book") => "scumble book".to_owned(),
        Some(action) => format!("scumble {}", action.replace('_', " ")),
        None if name.len() == 1 => format!("-{name}"),
        None => format!("--{}", name.replace('_', "-")),
    }
}
