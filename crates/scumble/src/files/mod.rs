//! Files: private rows in, batch by batch in bounded memory; released bytes out, complete or not at all.
//!
//! | kind | names | read as |
//! |---|---|---|
//! | npy | `.npy`, `.npy.gz` | 2 axes, f16 to f64, integers, bool; both byte orders; C and Fortran order |
//! | Parquet | `.parquet`, `.parq`, `.pq`, a folder of them | List, LargeList or FixedSizeList of float or integer; id and label columns |
//! | CSV, TSV | `.csv`, `.tsv`, `.gz` of them | with or without a header line; id and label by name, all others numbers |
//! | LIBSVM | `.svm`, `.libsvm`, `.gz` of them | sparse rows with labels; the number of attributes must be given |
//! | IDX | `.idx`, `*-idx3-ubyte`, `.gz` of them | first axis rows, the rest flattened |
//!
//! Ids and labels are read only where [`ReadOptions`] name them: nothing else leaves with a release by accident. The
//! same goes for the column of persons, which never leaves.

mod array;
pub(crate) mod atomic;
mod batch;
mod certify;
mod columns;
mod csv;
mod error;
mod folder;
mod gather;
mod ids;
mod idx;
mod input;
mod keys;
mod libsvm;
pub(crate) mod memory;
pub(crate) mod npy;
pub(crate) mod parquet;
mod part;
mod persons;
mod public;
mod reconcile;
mod release;
mod released;
mod seal;
mod verify;
mod writer;

pub use batch::{Batch, Piece, Shared, Values};
pub use certify::Certifier;
pub use columns::{IdCheck, find_column};
pub use error::{ReadError, ReadErrorKind, WriteError};
pub use gather::{Gather, PersonsOf, row_names};
pub use keys::{
    KeyFileError, make_signing_key, make_sticky_key, others_may_read, read_public_key, read_signing_key,
    read_sticky_key, write_new,
};
pub use parquet::{MECHANISM_KEY, write_table};
pub use part::{Part, release_part, row_groups};
pub use persons::{Pass, Persons, Ranking, retain_rows};
pub(crate) use public::write_together;
pub use public::{add_public, check_new, read_partition, read_table, write_whole};
pub use reconcile::{Reconciled, Trace, reconcile};
pub use release::{AccountOf, Aside, Job, JobError, Progress, RowsPerPerson, release};
pub use released::{
    FilesHasher, OpenError, ReleaseFault, ReleasedFile, beside_release, open_release, open_release_with,
    read_certificate, read_release,
};
pub(crate) use released::{ReleasedPiece, altered, read_pieces, released_files};
pub use seal::{SEAL_KEY, Seal, check_seal};
pub use verify::{Check, Outcome, Verification, verify};
pub(crate) use writer::place_beside;
pub use writer::{CERTIFICATE_KEY, ReleaseWriter, ReleasedBlock, write_release};

use crate::columns::Column;
use crate::error::{Fault, Kind};
use std::path::Path;
use std::str::FromStr;

/// Kinds of input files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// numpy's array format.
    Npy,
    /// Apache Parquet, one file or a folder of them.
    Parquet,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Sparse rows in LIBSVM's form.
    Libsvm,
    /// The format of MNIST.
    Idx,
}

/// A name that no kind of file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("format must be npy, parquet, csv, tsv, libsvm or idx")]
pub struct UnknownFormat;

impl Fault for UnknownFormat {
    fn kind(&self) -> Kind {
        Kind::Parameter
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "npy" => Self::Npy,
            "parquet" => Self::Parquet,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "libsvm" | "svm" => Self::Libsvm,
            "idx" => Self::Idx,
            _ => return Err(UnknownFormat),
        })
    }
}

impl Format {
    /// The kind by name: the extension before any `.gz`, or names such as `train-images-idx3-ubyte`. A folder is Parquet.
    pub fn detect(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Some(Self::Parquet);
        }
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let is_idx = |(_, after): (&str, &str)| after.starts_with(|c: char| c.is_ascii_digit());
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("npy") => Some(Self::Npy),
            Some("parquet" | "parq" | "pq") => Some(Self::Parquet),
            Some("csv") => Some(Self::Csv),
            Some("tsv") => Some(Self::Tsv),
            Some("svm" | "libsvm") => Some(Self::Libsvm),
            Some("idx") => Some(Self::Idx),
            _ if name.rsplit_once("-idx").is_some_and(is_idx) => Some(Self::Idx),
            _ if name.rsplit_once(".idx").is_some_and(is_idx) => Some(Self::Idx),
            _ => None,
        }
    }
}

/// How to read an input. `Default` takes everything from the file.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Kind of file; by its name if not given.
    pub format: Option<Format>,
    /// The Parquet column with the vectors.
    pub column: String,
    /// The column with the ids; if not given, none are read. For kinds of file without columns (npy, LIBSVM, IDX) a `.npy`
    /// file with an id for each row.
    pub id: Option<String>,
    /// The column with the labels; if not given, none are read. The labels of a LIBSVM file go by any name.
    pub label: Option<String>,
    /// The column that says whose row it is; it is read, and never released.
    pub person: Option<String>,
    /// Number of attributes: needed for LIBSVM, which does not say it; checked for the other kinds.
    pub dim: Option<usize>,
    /// Is the first line of a CSV file a header? By rule if not given: all text is one, all numbers are a row.
    pub header: Option<bool>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, column: "vector".to_owned(), id: None, label: None, person: None, dim: None, header: None }
    }
}

/// An input that is read once from front to back in bounded memory.
pub trait Source: Send {
    /// Number of attributes.
    fn dim(&self) -> usize;

    /// Number of rows, where it is known without reading them.
    fn rows_hint(&self) -> Option<u64>;

    /// True if the batches are sparse.
    fn is_sparse(&self) -> bool;

    /// Was the first line of a text table read as a header? `None` for other kinds of file.
    fn header(&self) -> Option<bool> {
        None
    }

    /// The next rows, at least one and at most `max_rows`, fewer where these would take more than about 8 MiB; `None`
    /// at the end. An input without rows is an error, here or in [`open`].
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError>;

    /// As [`next_batch`](Self::next_batch), with the decoding left to the caller.
    fn next_piece(&mut self, max_rows: usize) -> Result<Option<Piece>, ReadError> {
        Ok(self.next_batch(max_rows)?.map(Piece::from))
    }
}

/// Opens an input.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    let format = format(path, options.format)?;
    let named = match format {
        Format::Npy | Format::Idx => options.label.is_some() || options.person.is_some(),
        Format::Libsvm => options.person.is_some(),
        Format::Parquet | Format::Csv | Format::Tsv => false,
    };
    if named {
        return Err(ReadError::new(path, ReadErrorKind::NoNames));
    }
    let source = match format {
        Format::Npy => npy::open(path)?.into_source(options.dim)?,
        Format::Libsvm => libsvm::open(path, options)?,
        Format::Idx => idx::open_rows(path)?.into_source(options.dim)?,
        Format::Parquet => return parquet::open(path, options),
        Format::Csv => return csv::open(path, b',', options),
        Format::Tsv => return csv::open(path, b'\t', options),
    };
    match &options.id {
        Some(ids) => ids::attach(path, source, Path::new(ids)),
        None => Ok(source),
    }
}

/// Reads a whole input as one batch, for evaluation and small files.
pub fn read_all(path: &Path, options: &ReadOptions) -> Result<Batch, ReadError> {
    let mut source = open(path, options)?;
    let mut batches = Vec::new();
    while let Some(batch) = source.next_batch(usize::MAX)? {
        batches.push(batch);
    }
    Batch::concatenate(batches).ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))
}

/// Reads labels from a file of their own: a one-axis `.npy` or IDX, the labels of a LIBSVM file, or of a table the
/// column `label` or the only one.
pub fn read_labels(path: &Path) -> Result<Column, ReadError> {
    match format(path, None)? {
        Format::Npy => npy::read_column(path),
        Format::Idx => idx::open(path)?.into_column(),
        Format::Csv => csv::read_column(path, b','),
        Format::Tsv => csv::read_column(path, b'\t'),
        Format::Libsvm => libsvm::read_labels(path),
        Format::Parquet => parquet::read_labels(path),
    }
}

/// The kind of a file that exists, or why it cannot be opened.
fn format(path: &Path, asked: Option<Format>) -> Result<Format, ReadError> {
    std::fs::metadata(path).map_err(|e| ReadError::io(path, &e))?;
    let format = asked.or_else(|| Format::detect(path));
    let format = format.ok_or_else(|| ReadError::new(path, ReadErrorKind::UnknownFormat))?;
    match format {
        Format::Parquet if input::is_gz(path) => Err(ReadError::new(path, ReadErrorKind::GzippedParquet)),
        _ => Ok(format),
    }
}
