//! A book of public words for `privbook`: rows of a public sample.

use crate::error::{LibraryError, StructureError};
use scumble_core::projection::{Origin, PublicTable};
use scumble_core::vectors::{Rows, TableHash};

/// Words of a book, unless another number is asked for.
pub const BOOK_WORDS: usize = 16_384;

/// Takes up to `words` rows, spread over the sample, as the words of a book. PUBLIC rows: a released row is one of them, as
/// it is here.
pub fn make_book(rows: Rows<'_>, words: usize) -> Result<PublicTable, LibraryError> {
    let words = words.min(rows.len());
    if words < 2 {
        return Err(StructureError::BookRows.into());
    }
    let mut values = vec![0.0; words * rows.dim()];
    for (word, out) in values.chunks_exact_mut(rows.dim()).enumerate() {
        rows.for_each_value(word * rows.len() / words, |attribute, value| out[attribute] = value);
    }
    let largest = values.iter().fold(0.0, |most: f64, value: &f64| most.max(value.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return Err(StructureError::BookValues.into());
    }
    let scale = largest / f64::from(i16::MAX);
    let entries = values.iter().map(|value| (value / scale).round() as i16).collect();
    let origin = Origin::Sample { rows: rows.len() as u64, sha256: TableHash::of(rows).finish() };
    Ok(PublicTable::book(words, entries, scale, origin)?)
}
