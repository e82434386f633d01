//! What can be wrong with a file, one variant per way. For the operator only: no message holds a cell's value.

use crate::error::{Fault, Kind, ParameterError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that cannot be read: which one, where in it, and what to do. Displays as one line.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadError {
    /// The file.
    pub path: Box<Path>,
    /// Row, counted from 0 over the whole input, where one is to blame.
    pub row: Option<u64>,
    /// Line of a text file, counted from 1.
    pub line: Option<u64>,
    /// Column, by name or counted from 0, where one is to blame.
    pub column: Option<Box<str>>,
    /// What is wrong.
    pub kind: ReadErrorKind,
}

impl ReadError {
    /// A fault of a file as a whole.
    pub fn new(path: &Path, kind: ReadErrorKind) -> Self {
        Self { path: path.into(), row: None, line: None, column: None, kind }
    }

    /// Names the row.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    pub(super) fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Names the column.
    #[must_use]
    pub fn at_column(mut self, column: impl fmt::Display) -> Self {
        self.column = Some(one_line(&column.to_string()).into());
        self
    }

    /// A failed system call, or the fault that one of our own readers below it has found.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        let fault = error.get_ref().and_then(|inner| inner.downcast_ref::<ReadErrorKind>());
        Self::new(path, fault.cloned().unwrap_or_else(|| ReadErrorKind::Io(one_line(&error.to_string()))))
    }
}

impl std::error::Error for ReadError {}

impl Fault for ReadError {
    fn kind(&self) -> Kind {
        match self.kind {
            ReadErrorKind::NoCertificate => Kind::NoCertificate,
            ReadErrorKind::Io(_) => Kind::File,
            _ => Kind::Data { row: self.row, column: None },
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", one_line(&self.path.to_string_lossy()))?;
        match (self.row, self.line) {
            (Some(row), Some(line)) => write!(f, "row {row} (line {line})")?,
            (Some(row), None) => write!(f, "row {row}")?,
            (None, Some(line)) => write!(f, "line {line}")?,
            (None, None) => {}
        }
        if let Some(column) = &self.column {
            let comma = if self.row.is_some() || self.line.is_some() { ", " } else { "" };
            write!(f, "{comma}column {column}")?;
        }
        if self.row.is_some() || self.line.is_some() || self.column.is_some() {
            write!(f, ": ")?;
        }
        write!(f, "{}", self.kind)
    }
}

/// The ways in which an input file can be unusable.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs)] // each variant is its own message
#[non_exhaustive]
pub enum ReadErrorKind {
    #[error("{0}")]
    Io(String),
    #[error(transparent)]
    Public(Box<ParameterError>),
    #[error("not a file; give a file, or a folder of Parquet files")]
    NotAFile,
    #[error("kind not known from the name; give ‹format› npy, parquet, csv, tsv, libsvm or idx")]
    UnknownFormat,
    #[error("a Parquet file inside a .gz cannot be read in pieces; decompress it first")]
    GzippedParquet,
    #[error("name ends in .gz but the contents are not gzip")]
    NotGzip,
    #[error("gzip stream is cut short; copy the file again")]
    GzipTruncated,
    #[error("gzip stream is damaged; copy the file again")]
    GzipCorrupt,
    #[error("other bytes follow the gzip stream; copy the file again")]
    GzipTrailing,
    #[error("does not begin like {0} file; check the file, or give ‹format›")]
    WrongMagic(&'static str),
    #[error("header claims {bytes} bytes, more than the {limit} that are allowed")]
    HeaderTooLarge { bytes: u64, limit: u64 },
    #[error("header is malformed: {0}")]
    Header(&'static str),
    #[error("type {0} cannot be read; store numbers as float16, float32, float64 or integers")]
    ElementType(String),
    #[error("type {0} cannot be an id; store ids as integers or strings")]
    IdType(String),
    #[error("type {0} cannot be a label; store labels as numbers or strings")]
    LabelType(String),
    #[error("type {0} cannot hold vectors; store List, LargeList or FixedSizeList of float or integer")]
    VectorType(String),
    #[error("array has {0} axes; vectors need 2, with one vector per row (reshape it)")]
    NotAMatrix(usize),
    #[error("array has {0} axes; a column of labels or ids needs 1")]
    NotAColumn(usize),
    #[error("the input has no rows")]
    NoRows,
    #[error("the rows have no columns")]
    NoColumns,
    #[error("shape in the header is too large for any file")]
    TooLarge,
    #[error("file is cut short: {found} bytes of values, the header promises {expected}")]
    Truncated { expected: u64, found: u64 },
    #[error("header is cut short")]
    HeaderTruncated,
    #[error("bytes follow the last row; the file or its header is damaged")]
    TrailingBytes,
    #[error(
        "Fortran order in a .gz of {bytes} bytes, more than the {limit} held in memory; decompress it, or save it in C order"
    )]
    FortranGzip { bytes: u64, limit: u64 },
    #[error("no column `{name}`; there are: {columns}")]
    NoSuchColumn { name: String, columns: String },
    #[error("none of the {columns} columns is called `{name}`; without a header line they are called 0, 1, 2, ...")]
    NoSuchName { name: String, columns: usize },
    #[error(
        "this kind of file has no columns that could be named; give ids as a .npy file with one axis, or use Parquet or CSV"
    )]
    NoNames,
    #[error("{0} columns and none is called `label`")]
    NoLabel(usize),
    #[error("several columns `{0}`; rename all but one")]
    DuplicateColumn(String),
    #[error("the first line mixes numbers and text; say whether it is a header: ‹header› yes or no")]
    MixedHeader,
    #[error(
        "the first line counts 0, 1, 2, ..., as pandas names columns that have no names; say whether it is a header: \
         yes or no"
    )]
    CountingHeader,
    #[error("a column has no name, like the index that pandas writes; leave it out (index=False) or give it a name")]
    UnnamedColumn,
    #[error("text is not UTF-8; save the file as UTF-8")]
    NotUtf8,
    #[error("a quote is not closed: the rows after it were read as one cell")]
    OpenQuote,
    #[error("one row is longer than {limit} bytes; look for a quote that is not closed")]
    RowTooLong { limit: u64 },
    #[error("row has {found} cells, the first line has {expected}")]
    Ragged { found: u64, expected: u64 },
    #[error("cell is empty; fill it or drop the row")]
    MissingCell,
    #[error("cell is not a number; drop this column, or name it with ‹id› or ‹label›")]
    NotANumber,
    #[error("null; fill it or drop the row")]
    Null,
    #[error("row has {found} attributes, expected {expected}")]
    Dimension { found: u64, expected: u64 },
    #[error("column types differ from those of {0}; all files of a folder need the same")]
    SchemaDiffers(String),
    #[error("no Parquet file in this folder")]
    NoParquetFiles,
    #[error(
        "a table of {0}: its log says which files count, and rows that it has removed are still on disk; export the table \
         with a reader that knows it, and release what that gives"
    )]
    TableFormat(&'static str),
    #[error(
        "a partition: its name holds a column that its files do not have; release each partition on its own, or write the \
         table without partitions"
    )]
    HivePartition,
    #[error("not a Parquet file; a folder may hold only Parquet files, and names that begin with . or _")]
    ForeignFile,
    #[error("folder inside a folder of Parquet files; move its files up, or release it on its own")]
    Subfolder,
    #[error("page of {bytes} bytes, more than the {limit} held in memory; write the file with smaller pages")]
    PageTooLarge { bytes: u64, limit: u64 },
    #[error("damaged: {0}")]
    Corrupt(String),
    #[error("changed while it was read; try again when nothing writes to it")]
    Changed,
    #[error("label is not a number; a line is `label index:value ...`")]
    BadLabel,
    #[error("entry is not `index:value`")]
    BadEntry,
    #[error("index 0; indices are counted from 1, add 1 to each")]
    IndexZero,
    #[error("indices must be strictly increasing; sort the entries and merge repeated ones")]
    IndexOrder,
    #[error("an index is above {dim}, the number of attributes")]
    IndexOutOfRange { dim: u64 },
    #[error(
        "the file does not say how many attributes there are: give ‹dim›, a number that does not come from the rows (the \
         largest index in them would tell about them)"
    )]
    NoDimension,
    #[error("id is the same as that of row {first}; ids must be unique")]
    DuplicateId { first: u64 },
    #[error("integer does not fit 64 bits with a sign; store it as a string")]
    IntegerRange,
    #[error("no certificate: neither in the file nor beside it")]
    NoCertificate,
    #[error("not a release; give a file that was released")]
    NotARelease,
    #[error("{}", if *named {
        "made by another mechanism than the one that would certify it"
    } else {
        "does not say which mechanism made it; write the batches with their schema's metadata"
    })]
    OtherMechanism { named: bool },
    #[error("`{0}` is not named in the certificate of any release; get the release again from its source")]
    NotNamed(String),
    #[error("of a type that no release has; get the release again from its source")]
    ReleasedType,
    #[error("text with a line break or a NUL, which no release has; get the release again from its source")]
    ReleasedText,
    #[error("no labels in it; name a file or a ‹label› column")]
    NoLabels,
    #[error("{found} entries for {expected} rows")]
    Count { found: u64, expected: u64 },
}

/// An output that cannot be written. Holds public facts only. Displays as one line; no output is left.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// An output is never overwritten.
    #[error("{}: exists already; remove it or choose another ‹out›", one_line(&.0.to_string_lossy()))]
    Exists(PathBuf),
    /// Only two kinds of release files are written.
    #[error("{}: output must end in .parquet or .npy", one_line(&.0.to_string_lossy()))]
    Kind(PathBuf),
    /// Other files come in few kinds, too.
    #[error("{}: {what} must end in {endings}; nothing was written", one_line(&path.to_string_lossy()))]
    Ending {
        /// The file.
        path: PathBuf,
        /// What would be in it.
        what: &'static str,
        /// How its name may end.
        endings: &'static str,
    },
    /// Parquet numbers rows that have no ids, and a signature covers the ids.
    #[error(
        "{}: its signature would be lost, because this format numbers rows that have no ids: give ids before signing, or \
         write .npy; nothing was written",
        one_line(&.0.to_string_lossy())
    )]
    SignatureLost(PathBuf),
    /// The operating system refused: no such folder, disk full, no permission.
    #[error("{}: {message}; nothing was written", one_line(&path.to_string_lossy()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        message: String,
    },
    /// A text id or label with a line break or another control character.
    #[error(
        "row {row}: {column} contains a line break or another control character; replace it, or look for a quote that is not closed"
    )]
    Text {
        /// Row, counted from 0.
        row: u64,
        /// `id` or `label`.
        column: &'static str,
    },
    /// Blocks of one release must agree with each other and with the encoding.
    #[error("internal: {0}")]
    Block(&'static str),
}

impl Fault for WriteError {
    fn kind(&self) -> Kind {
        Kind::File
    }
}

impl WriteError {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Self::Exists(path.to_owned());
        }
        Self::Io { path: path.to_owned(), message: one_line(&error.to_string()) }
    }
}

/// Names come from files: a control character in one must not break the line or the terminal.
pub(super) fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST + 1).collect();
    match clean.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &clean[..cut]),
        None => clean,
    }
}

/// The names that exist, for an error about one that does not.
pub(super) fn list(names: &[String]) -> String {
    one_line(&names.join(", "))
}
