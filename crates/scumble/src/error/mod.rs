//! What can go wrong in this crate, besides what the core says ([`scumble_core::error`], re-exported here).
//!
//! One variant per way to be wrong, its sentence beside it. Public numbers only: a [`LibraryError`] may be shown to
//! anyone. A sentence names a parameter as `‹beta›`; each front end puts it into its own words ([`worded`]).

mod accounting;
mod campaign;
mod certificate;
mod consumer;
mod fault;
mod refusal;
mod structure;

pub use accounting::AccountingError;
pub use campaign::{CampaignError, TermsError};
pub use certificate::{CertificateError, KeyError, PartsError};
pub use consumer::{SearchError, StatisticsError, TrainingError};
pub use fault::{Fault, Kind};
pub use refusal::{NotAmplified, NotPrivate};
pub use scumble_core::error::*;
pub use structure::StructureError;

use thiserror::Error;

/// A request that the library cannot meet, or a text that it does not believe.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// In the words of the core.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// What is asked for would not be private, or could not be shown to be.
    #[error(transparent)]
    Refused(#[from] NotPrivate),
    /// A budget, or the rows of a person.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    /// A certificate, or two that do not fit each other.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A key file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The parts of a release.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A campaign, or a release that does not belong to it.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A public sample that does not teach what is asked for.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// Queries.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// Statistics of a release.
    #[error(transparent)]
    Statistics(#[from] StatisticsError),
    /// Labels.
    #[error(transparent)]
    Training(#[from] TrainingError),
}

impl LibraryError {
    /// True for a refusal on privacy grounds (exit status 1 of the command line).
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Parameter(error) => error.is_refusal(),
            Self::Refused(_) => true,
            Self::Accounting(_)
            | Self::Certificate(_)
            | Self::Key(_)
            | Self::Parts(_)
            | Self::Campaign(_)
            | Self::Structure(_)
            | Self::Search(_)
            | Self::Statistics(_)
            | Self::Training(_) => false,
        }
    }
}
