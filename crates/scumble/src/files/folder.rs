//! Which files a folder of Parquet files stands for: all of them, or an error. A part that is skipped silently is data that
//! the operator believes released; a part that a table's log has removed is data that they believe gone.
//!
//! - Names that begin with `.` or `_` are not data, as in Spark and its kin (`_SUCCESS`, `.part-0.crc`, `_temporary`).
//! - Every other file must begin like a Parquet file, whatever its name ends in; `certificate.json` belongs to a release.
//! - Delta, Iceberg and Hudi tables are refused, and so is a folder inside one: files that their logs have removed are still
//!   on disk.
//! - Hive partitions (`day=1/`) are refused: their names hold a column, which no file in them has.

use super::error::{ReadError, ReadErrorKind};
use super::input;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The Parquet files of a data set in name order: the one that `path` is, or all of the folder.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if let Some(table) = table_around(path) {
        return Err(ReadError::new(path, ReadErrorKind::TableFormat(table)));
    }
    let fault = |e: std::io::Error| ReadError::io(path, &e);
    let entries = std::fs::read_dir(path).map_err(fault)?.map(|entry| Ok(entry.map_err(fault)?.path()));
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if is_data(&entry)? {
            files.push(entry);
        }
    }
    if files.is_empty() {
        return Err(ReadError::new(path, ReadErrorKind::NoParquetFiles));
    }
    Ok(files)
}

/// True for a Parquet file, false for what its name marks as something other than data.
fn is_data(path: &Path) -> Result<bool, ReadError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fault = |kind| Err(ReadError::new(path, kind));
    if name.starts_with(['.', '_']) || name == "certificate.json" {
        return Ok(false);
    }
    if path.is_dir() {
        return fault(if name.contains('=') { ReadErrorKind::HivePartition } else { ReadErrorKind::Subfolder });
    }
    let mut magic = Vec::new();
    let read = input::open_file(path)?.take(4).read_to_end(&mut magic);
    read.map_err(|e| ReadError::io(path, &e))?;
    match &magic[..] {
        b"PAR1" | b"PARE" => Ok(true), // the second has an encrypted footer, which opening it will say
        _ if name.to_lowercase().ends_with(".parquet") => Ok(true), // damaged: opening it says how
        [0x1F, 0x8B, ..] => fault(ReadErrorKind::GzippedParquet),
        _ => fault(ReadErrorKind::ForeignFile),
    }
}

/// The kind of table that this folder is, or is inside.
fn table_around(folder: &Path) -> Option<&'static str> {
    let whole = folder.canonicalize().ok()?;
    whole.ancestors().find_map(|folder| {
        if folder.join("_delta_log").is_dir() {
            return Some("Delta");
        }
        if folder.join(".hoodie").is_dir() {
            return Some("Hudi");
        }
        let is_metadata = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".metadata.json");
        let metadata = std::fs::read_dir(folder.join("metadata")).ok()?;
        metadata.flatten().any(is_metadata).then_some("Iceberg")
    })
}
