//! Public samples that do not teach what is asked for.

use thiserror::Error;

/// A public sample that does not teach what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum StructureError {
    #[error("the sample has a value that is NaN or infinite; replace or drop it")]
    NotFinite,
    #[error("bins are learned from at least 2 public rows")]
    BinsSample,
    #[error("bins are learned from at least 2 rows")]
    BinsRelease,
    #[error(
        "bins are learned from a release of every attribute: raw-staircase, raw-laplace or raw-g-opt; a projection has \
         added its attributes up already"
    )]
    BinsProjected,
    #[error(
        "k = {k} bins take from 1 to as many attributes as are not always zero, of which the sample has {attributes}"
    )]
    BinsAttributes { k: usize, attributes: usize },
    #[error(
        "{k} components need more than {k} public rows of at least {k} attributes; the sample has {rows} rows of {attributes}"
    )]
    ComponentsSample { k: usize, rows: usize, attributes: usize },
    #[error("the sample has fewer than {k} directions")]
    ComponentsDirections { k: usize },
    #[error("a book needs at least 2 words, from at least 2 public rows")]
    BookRows,
    #[error("the words of a book need finite values, not all zero")]
    BookValues,
}
