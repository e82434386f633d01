//! Public files that a mechanism rests on: bins, components and books.

use super::atomic::{Pending, publish};
use super::error::{ReadError, ReadErrorKind, WriteError};
use scumble_core::error::ParameterError;
use scumble_core::mechanism::Beside;
use scumble_core::projection::{Partition, TableFile};
use std::io::Write;
use std::path::Path;

fn fault(name: &Path, error: ParameterError) -> ReadError {
    ReadError::new(name, ReadErrorKind::Public(error.into()))
}

fn bytes(name: &Path) -> Result<Vec<u8>, ReadError> {
    std::fs::read(name).map_err(|e| ReadError::io(name, &e))
}

/// The partition that a name stands for: `grid:28x28`, or a file.
pub fn read_partition(name: &Path) -> Result<Partition, ReadError> {
    let found = match name.to_str().filter(|text| text.starts_with("grid:")) {
        Some(grid) => grid.parse(),
        None => Partition::from_file(&bytes(name)?),
    };
    found.map_err(|error| fault(name, error))
}

/// A file of components or a book.
pub fn read_table(name: &Path) -> Result<TableFile, ReadError> {
    TableFile::from_file(&bytes(name)?).map_err(|error| fault(name, error))
}

/// Adds a public file to those that are available.
pub fn add_public(name: &Path, beside: &mut Beside) -> Result<(), ReadError> {
    beside.add(&bytes(name)?).map_err(|error| fault(name, error))
}

/// Writes a public file, complete or not at all; an existing file is never replaced.
pub fn write_public(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let mut pending = Pending::create(path)?;
    pending.write_all(content).map_err(|e| WriteError::io(path, &e))?;
    publish(vec![pending])
}
