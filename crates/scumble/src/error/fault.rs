//! What follows from an error: each front end turns its kind into an exit status or an exception.

use super::{DataError, KeyError, LibraryError, ParameterError};
use scumble_core::entropy::NoEntropy;
use scumble_core::release::ReleaseError;

/// Which kind of error something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A public number or a request that cannot be met.
    Parameter,
    /// Refused: it would not be private, or could not be shown to be.
    NotPrivate,
    /// Refused: it costs more than what is left.
    OverBudget,
    /// Refused on other grounds.
    Refused,
    /// Refused: this kind of release does not reveal it.
    NotIdentifiable,
    /// Refused: a release that is not what its certificate says.
    Certificate,
    /// A file that has no certificate.
    NoCertificate,
    /// A fault of the private input.
    Data {
        /// Row, counted from 0, where one is to blame.
        row: Option<u64>,
        /// Attribute, counted from 0, where one is to blame.
        column: Option<u64>,
    },
    /// A row that does not exist.
    NoSuchRow,
    /// A file that cannot be read or written.
    File,
    /// The run could not be completed, whatever was asked for.
    Run,
    /// The caller no longer wants it.
    Stopped,
}

impl Kind {
    /// True for a refusal (exit status 1 of the command line).
    pub fn is_refusal(self) -> bool {
        match self {
            Self::NotPrivate | Self::OverBudget | Self::Refused | Self::NotIdentifiable | Self::Certificate => true,
            Self::Parameter
            | Self::NoCertificate
            | Self::Data { .. }
            | Self::NoSuchRow
            | Self::File
            | Self::Run
            | Self::Stopped => false,
        }
    }
}

/// An error of one of the libraries.
pub trait Fault: std::error::Error {
    /// Which kind it is.
    fn kind(&self) -> Kind;
}

impl Fault for ParameterError {
    fn kind(&self) -> Kind {
        if self.is_refusal() { Kind::NotPrivate } else { Kind::Parameter }
    }
}

impl Fault for LibraryError {
    fn kind(&self) -> Kind {
        if self.is_refusal() { Kind::NotPrivate } else { Kind::Parameter }
    }
}

impl Fault for KeyError {
    fn kind(&self) -> Kind {
        Kind::Parameter
    }
}

impl Fault for NoEntropy {
    fn kind(&self) -> Kind {
        Kind::Run
    }
}

impl Fault for DataError {
    fn kind(&self) -> Kind {
        Kind::Data { row: Some(self.row), column: self.column }
    }
}

impl Fault for ReleaseError {
    fn kind(&self) -> Kind {
        match self {
            Self::Data(error) => error.kind(),
            Self::NoEntropy(error) => error.kind(),
            Self::Unpaid { row } => Kind::Data { row: Some(*row), column: None },
        }
    }
}
