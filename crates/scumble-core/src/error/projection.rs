//! Faults of a projection, and of the public files that take its place.

use thiserror::Error;

/// The projection, or a public file that takes its place.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum ProjectionError {
    #[error("unknown projection {text:?}: use none, gaussian, uniform, very-sparse:S, rademacher or oporp")]
    Unknown { text: String },
    #[error("{kind} are given by ‹{kind}›, not as a kind of projection")]
    FromFile { kind: String },
    #[error("seed must be 64 hexadecimal digits (32 bytes)")]
    Seed,
    #[error("dimension must be between 1 and 2^32, got {dim}")]
    Dim { dim: usize },
    #[error("k must be between 1 and 2^24, got {k}")]
    K { k: usize },
    #[error("without a projection k must be the dimension {dim}, got {k}")]
    IdentityK { dim: usize, k: usize },
    #[error("very sparse projections need s between 1 and 2^31, got {s}")]
    VerySparse { s: f64 },
    #[error("repeats must divide k = {k}, got {repeats}")]
    Repeats { k: usize, repeats: usize },
    #[error("OPORP needs an attribute for each of its {bins} bins, but the dimension is {dim}: lower k")]
    TooManyBins { bins: usize, dim: usize },

    #[error(
        "{text:?} is not an image grid: write grid:ROWSxCOLUMNS, such as grid:28x28, or grid:32x32x3 for pixels of three \
         colours; at most 2^24 values"
    )]
    ImageGrid { text: String },
    #[error(
        "{rows} x {columns} pixels do not split into {k} blocks: k must be a product of at most {rows} and at most \
         {columns}, for example a square"
    )]
    Blocks { rows: usize, columns: usize, k: usize },
    #[error("{grid} has {found} attributes, but the rows have {dim}")]
    GridDim { grid: String, found: usize, dim: usize },

    #[error(transparent)]
    BinsFile(#[from] BinsError),
    #[error("bins take 1 to 2^24 attributes, got {attributes}")]
    BinsAttributes { attributes: usize },
    #[error("bins must be 1 to 2^20, and no more than the attributes, got {bins}")]
    BinsCount { bins: usize },
    #[error("bin {bin} is outside 0..{bins}")]
    NoSuchBin { bin: u32, bins: usize },
    #[error("bin {bin} has no attribute")]
    EmptyBin { bin: usize },
    #[error("a law has 1 to 64 finite ascending numbers, the same count for each bin")]
    BinsLaw,
    #[error("the file of bins is not in its one form: write its numbers shortest")]
    BinsForm,
    #[error("bins: sha256 is not the SHA-256 of the text in 64 lower-case hexadecimal digits")]
    BinsHash,
    #[error("the file of bins is missing: give the one whose sha256 is {sha256} with ‹bins›")]
    BinsElsewhere { sha256: String },
    #[error("the bins are of {found} attributes, but the rows have {dim}")]
    BinsDim { found: usize, dim: usize },
    #[error("the file has {found} bins, but k is {k}")]
    BinsK { found: usize, k: usize },

    #[error(transparent)]
    TableFile(#[from] TableError),
    #[error("the public table's head is not in its one form")]
    TableForm,
    #[error("sha256 is not the SHA-256 of the content in 64 lower-case hexadecimal digits")]
    TableHash,
    #[error("the file of {table} is missing: give the one whose sha256 is {sha256} with ‹{table}›")]
    TableElsewhere { table: &'static str, sha256: String },
    #[error("‹{table}› was given another kind of public table")]
    TableKind { table: &'static str },
    #[error("the {table} are of {found} attributes, but the rows have {dim}")]
    TableDim { table: &'static str, found: usize, dim: usize },
}

/// What is wrong with a file of bins: one variant per fault. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // each variant is its own message
#[non_exhaustive]
pub enum BinsError {
    #[error("not a file of bins: its first line is not 'scumble-bins 1'")]
    Heading,
    #[error("the file of bins has a byte that is not ASCII text, or a line break other than a single line feed")]
    Text,
    #[error("the file of bins is cut short: {0}")]
    Truncated(&'static str),
    #[error("line {line}: expected '{expected}'")]
    Expected { line: usize, expected: &'static str },
    #[error("line 2: attributes must be 1 to 2^24")]
    Attributes,
    #[error("line 3: bins must be 1 to 2^20, and no more than the attributes")]
    BinCount,
    #[error("line 4: 'from' takes 'made', 'sample ROWS SHA256' or 'release SHA256'")]
    Provenance,
    #[error("line {line}: a bin has no attribute")]
    EmptyBin { line: usize },
    #[error("line {line}: every attribute needs a sign, + or -")]
    Sign { line: usize },
    #[error("line {line}: an attribute is not a whole number without leading zeros")]
    Number { line: usize },
    #[error("line {line}: attribute {attribute} is outside 0..{dim}")]
    OutOfRange { line: usize, attribute: u64, dim: usize },
    #[error("line {line}: attribute {attribute} is out of order; the attributes of a bin ascend")]
    Order { line: usize, attribute: usize },
    #[error("line {line}: attribute {attribute} is in two bins")]
    Twice { line: usize, attribute: usize },
    #[error("line {line}: a law has 1 to 64 finite ascending numbers, the same count for each bin")]
    Law { line: usize },
    #[error("lines follow the last bin")]
    Trailing,
}

/// What is wrong with a public table: one variant per fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // each variant is its own message
#[non_exhaustive]
pub enum TableError {
    #[error("not a public table: its first line is neither 'scumble-components 1' nor 'scumble-book 1'")]
    Heading,
    #[error("line {line}: expected '{expected}'")]
    Expected { line: usize, expected: &'static str },
    #[error("rows and columns must be at least 1, and at most 2^24 and 2^31 numbers together")]
    Size,
    #[error("line 4: 'from' takes 'made', 'sample ROWS SHA256' or 'release SHA256'")]
    Provenance,
    #[error("line 5: the scale must be a positive number")]
    Scale,
    #[error("the table is {found} bytes long after its head, not {expected}")]
    Length { found: usize, expected: usize },
    #[error("the centre has a value that is not finite")]
    Centre,
}
