//! Public files that a mechanism rests on: bins, components and books; and small files that are written whole.

use super::atomic::{Pending, publish};
use super::error::{ReadError, ReadErrorKind, WriteError};
use super::writer::place_beside;
use scumble_core::error::ParameterError;
use scumble_core::mechanism::Beside;
use scumble_core::projection::{Partition, TableFile};
use std::io::Write;
use std::path::{Path, PathBuf};

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

/// Refuses a name that exists or a folder that takes no file, before any work is done for what it would hold.
pub fn check_new(path: &Path) -> Result<(), WriteError> {
    Pending::create(path).map(drop)
}

/// Writes files, each complete, and all of them or none; an existing file is never replaced.
pub fn write_whole(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let pending = |&(path, content): &(&Path, &[u8])| {
        let mut pending = Pending::create(path)?;
        pending.write_all(content).map_err(|e| WriteError::io(path, &e))?;
        Ok(pending)
    };
    publish(files.iter().map(pending).collect::<Result<_, WriteError>>()?)
}

/// Writes a file with the public file that it names beside it, `PATH.book` and the like: all or nothing. Says where the
/// public file is.
pub(crate) fn write_together(
    path: &Path,
    content: &[u8],
    public: Option<(&'static str, Vec<u8>)>,
) -> Result<Option<PathBuf>, WriteError> {
    let public = public.map(|(kind, content)| (place_beside(path, kind), content));
    let files = public.iter().map(|(path, content)| (path.as_path(), &content[..])).chain([(path, content)]);
    write_whole(&files.collect::<Vec<_>>())?;
    Ok(public.map(|(path, _)| path))
}
