//! Finding the columns of a table by name, and ids that occur twice.

use super::error::{self, ReadError, ReadErrorKind};
use crate::columns::Column;
use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fmt;
use std::hash::BuildHasher;
use std::path::Path;

/// The place of a column by name. One that was not asked for may be missing. `path` is named in errors.
pub fn find_column(
    path: &Path,
    names: &[String],
    asked: Option<&str>,
    default: &str,
) -> Result<Option<usize>, ReadError> {
    let name = asked.unwrap_or(default);
    let mut places = names.iter().enumerate().filter(|(_, n)| *n == name).map(|(at, _)| at);
    let kind = match (places.next(), places.next()) {
        (place, None) if place.is_some() || asked.is_none() => return Ok(place),
        (Some(_), Some(_)) => ReadErrorKind::DuplicateColumn(error::one_line(name)),
        _ => ReadErrorKind::NoSuchColumn { name: error::one_line(name), columns: error::list(names) },
    };
    Err(ReadError::new(path, kind))
}

/// Finds an id that occurs twice.
///
/// Holds a keyed 64-bit hash and a row number for each row: 16 bytes, 20 to 40 with the table's free places. Two
/// different ids share a hash, and are refused wrongly, with a probability below n^2/2^65 (1e-8 for a million rows).
#[derive(Default)]
pub struct IdCheck {
    key: RandomState,
    seen: HashMap<u64, u64>,
}

impl fmt::Debug for IdCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdCheck({} ids)", self.seen.len())
    }
}

impl IdCheck {
    /// An empty check.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the ids of a block that begins at `first_row`. The error names both rows.
    pub fn add(&mut self, path: &Path, ids: &Column, first_row: u64) -> Result<(), ReadError> {
        for i in 0..ids.len() {
            let hash = match ids {
                Column::Int(v) => self.key.hash_one(v[i]),
                Column::Float(v) => self.key.hash_one(v[i].to_bits()),
                Column::Text(v) => self.key.hash_one(&v[i]),
            };
            let row = first_row + i as u64;
            match self.seen.entry(hash) {
                Entry::Vacant(place) => place.insert(row),
                Entry::Occupied(place) => {
                    let kind = ReadErrorKind::DuplicateId { first: *place.get() };
                    return Err(ReadError::new(path, kind).at_row(row).at_column("id"));
                }
            };
        }
        Ok(())
    }
}
