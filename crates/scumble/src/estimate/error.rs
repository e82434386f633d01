//! Why a release does not tell a similarity.

use crate::error::{CertificateError, Fault, Kind, SearchError};
use scumble_core::mechanism::MechanismId;
use thiserror::Error;

/// Why a release does not tell a similarity.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The two rows live in different projections.
    #[error(transparent)]
    Projection(#[from] CertificateError),
    /// The query does not fit the release.
    #[error(transparent)]
    Query(#[from] SearchError),
    /// The quantity cannot be identified from this kind of release.
    #[error(transparent)]
    NotIdentifiable(#[from] NotIdentifiable),
    /// A row that is not there.
    #[error("row {row} does not exist: the release has {rows} rows")]
    NoSuchRow {
        /// The row asked for.
        row: usize,
        /// Rows there are.
        rows: usize,
    },
}

impl Fault for EstimateError {
    fn kind(&self) -> Kind {
        match self {
            Self::Projection(_) | Self::Query(_) => Kind::Parameter,
            Self::NotIdentifiable(_) => Kind::NotIdentifiable,
            Self::NoSuchRow { .. } => Kind::NoSuchRow,
        }
    }
}

/// What a kind of release does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum NotIdentifiable {
    #[error(
        "{mechanism} releases bits or symbols, which keep no lengths: inner products and distances are not identifiable; \
         use it for ranking (search)"
    )]
    Bits { mechanism: MechanismId },
    #[error(
        "the sketch was clipped before the noise, so inner products are biased by an unknown amount; use it for ranking \
         (search) only"
    )]
    Clipped,
    #[error("one bit per value keeps no length; use it for ranking (search) only")]
    OneBit,
    #[error("fewer than four coordinates do not tell how far the projection is off; release with a larger k")]
    FewCoordinates,
    #[error("the sketch of the query is all zeros: the query has no length, or the projection has lost it")]
    LostQuery,
    #[error("a row shares its noise with itself, and with its copies and sticky releases; ask for its squared norm")]
    SameRow,
    #[error("a row shares its noise with itself, and with its copies and sticky releases")]
    SameBits,
    #[error(
        "a word of a book, or bits of public components, keep a part of each record that depends on the record; use it for \
         ranking (search) and for training only"
    )]
    PartOfRecord,
    #[error(
        "at this epsilon more than one row in 20 is released as a vertex that tells nothing, and no one knows which: a \
         single value has no interval; use it for ranking (search) and for training only"
    )]
    EmptyVertices,
    #[error(
        "bins keep the means of their attributes and not the rows' lengths, so the release does not tell angles; use it \
         for ranking (search), or ask for the inner product with its bound"
    )]
    AngleOfBins,
    #[error(
        "the angle is not identifiable from {mechanism}: it takes values, or signs of a Gaussian projection that all flip \
         alike (dp-signrp-rr); use it for ranking (search) only"
    )]
    Angle { mechanism: MechanismId },
}
