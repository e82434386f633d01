//! The whole story on handwritten digits, in seconds, without a network: plan, release, search, compare, report.

mod data;
mod page;
mod story;

pub use data::{DIM, QUERIES, ROWS};
pub use story::{Recall, Step, Story, TOP};

use data::Data;
use scumble::entropy::NoEntropy;
use scumble::error::{DataError, Fault, Kind, LibraryError, ParameterError};
use scumble::estimate::EstimateError;
use scumble::files::{JobError, OpenError};
use scumble::plan::PlanError;
use scumble::release::ReleaseError;
use std::path::{Path, PathBuf};

/// The rows, so that other verbs can be tried on them.
pub const VECTORS: &str = "vectors.npy";
/// The release to try them on.
pub const PRIVATE: &str = "private.parquet";
/// The page.
pub const REPORT: &str = "report.html";

/// What is written; an earlier demo's files of these names are replaced, nobody else's.
const FILES: [&str; 5] = [VECTORS, PRIVATE, "paper.parquet", "blocks.parquet", REPORT];

/// Why the story does not reach its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant but one is another module's error
pub enum DemoError {
    /// The folder takes no files.
    #[error("{}: {message}; choose another ‹out›", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// A file of the same name that no demo has written.
    #[error("{}: is here already, and no demo wrote this folder; choose another ‹out›", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    #[error(transparent)]
    Parameter(#[from] LibraryError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Estimate(#[from] EstimateError),
}

impl Fault for DemoError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unwritable { .. } | Self::NotOurs { .. } => Kind::File,
            Self::Parameter(error) => error.kind(),
            Self::Plan(error) => error.kind(),
            Self::Job(error) => error.kind(),
            Self::Open(error) => error.kind(),
            Self::Release(error) => error.kind(),
            Self::Estimate(error) => error.kind(),
        }
    }
}

impl From<ParameterError> for DemoError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error.into())
    }
}

impl From<DataError> for DemoError {
    fn from(error: DataError) -> Self {
        Self::Release(error.into())
    }
}

impl From<NoEntropy> for DemoError {
    fn from(error: NoEntropy) -> Self {
        Self::Release(error.into())
    }
}

/// Tells the story in a folder: `say` is told of each step as it happens. `words` gives the names of parameters and
/// actions on the page ([`scumble::error::worded`]).
pub fn run<E: From<DemoError>>(
    out: &Path,
    words: impl Fn(&str) -> String,
    say: impl FnMut(Step<'_>) -> Result<(), E>,
) -> Result<Story, E> {
    std::fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    let data = Data::new();
    let before: Vec<_> = FILES.map(|name| out.join(name)).into_iter().filter(|path| path.exists()).collect();
    if let Some(path) = before.first()
        && !data.is_at(&out.join(VECTORS))
    {
        return Err(DemoError::NotOurs { path: path.clone() }.into());
    }
    for path in before {
        std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
    }
    let story = story::tell(&data, out, say)?;
    let (report, page) = (out.join(REPORT), page::page(&story).render());
    let page = scumble::error::worded(&page, words);
    std::fs::write(&report, page).map_err(|error| unwritable(&report, &error))?;
    Ok(story)
}

fn unwritable(path: &Path, error: &std::io::Error) -> DemoError {
    DemoError::Unwritable { path: path.to_owned(), message: error.to_string() }
}
