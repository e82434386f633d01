//! A campaign as a file. The public file that it names, if any, is beside it: `CAMPAIGN.bins`, `.components` or `.book`.

use super::{Campaign, LONGEST};
use crate::error::{CampaignError, Fault, Kind, LibraryError};
use crate::files::{ReadError, ReadErrorKind, WriteError, beside_release, place_beside, write_together};
use scumble_core::error::{ParameterError, ProjectionError};
use scumble_core::mechanism::{Beside, Mechanism};
use scumble_core::release::Encoder;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why a campaign's file cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignFileError {
    /// It, or the file beside it, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The public file that it names is not where it is looked for.
    #[error("{}: {fault}", path.display())]
    FileMissing {
        /// The campaign.
        path: PathBuf,
        /// Which file, and where.
        fault: LibraryError,
    },
    /// It can be read, but is not a valid campaign.
    #[error("{}: {fault}", path.display())]
    Campaign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: LibraryError,
    },
}

impl Fault for CampaignFileError {
    fn kind(&self) -> Kind {
        match self {
            Self::Read(error) => error.kind(),
            Self::FileMissing { fault, .. } | Self::Campaign { fault, .. } => fault.kind(),
        }
    }
}

/// Reads a campaign and re-checks it; what its numbers describe comes with it. `given` are public files that are not
/// beside it.
pub fn read_campaign(path: &Path, given: &Beside) -> Result<(Campaign, Mechanism, Encoder), CampaignFileError> {
    let system = |error: std::io::Error| ReadError::new(path, ReadErrorKind::Io(error.to_string()));
    let file = File::open(path).map_err(system)?;
    let mut text = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut text).map_err(system)?;
    let fault = |fault: LibraryError| CampaignFileError::Campaign { path: path.to_owned(), fault };
    let text = String::from_utf8(text).map_err(|_| fault(CampaignError::NotText.into()))?;
    Campaign::parse_with(&text, &beside_release(path, given)?).map_err(|error| match missing(&error) {
        Some((kind, sha256)) => CampaignFileError::FileMissing {
            path: path.to_owned(),
            fault: CampaignError::FileMissing { place: place_beside(path, kind), sha256 }.into(),
        },
        None => fault(error),
    })
}

/// The public file without which a campaign cannot be read: its kind and its hash.
fn missing(error: &LibraryError) -> Option<(&'static str, String)> {
    match error {
        LibraryError::Parameter(ParameterError::Projection(ProjectionError::BinsElsewhere { sha256 })) => {
            Some(("bins", sha256.clone()))
        }
        LibraryError::Parameter(ParameterError::Projection(ProjectionError::TableElsewhere { table, sha256 })) => {
            Some((*table, sha256.clone()))
        }
        _ => None,
    }
}

/// Writes a campaign and, beside it, the public file that it names: all or nothing. A file that exists is never replaced.
/// Says where the public file is.
pub fn write_campaign(path: &Path, campaign: &Campaign) -> Result<Option<PathBuf>, WriteError> {
    write_together(path, campaign.to_json().as_bytes(), campaign.file())
}
