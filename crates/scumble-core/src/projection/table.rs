//! A public table of 16-bit integers with a text head: the form in which components and books are stored. Format:
//! `docs/bins-format.md`.

use super::bins::{MOST_ATTRIBUTES, Origin, number, origin, unhex};
use crate::error::{ParameterError, ProjectionError, TableError};
use crate::exact;
use crate::facts::{hex, sha256};
use std::fmt;
use std::sync::Arc;

/// The most integers that a table may hold.
const MOST_ENTRIES: usize = 1 << 31;

/// What a public table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Weights of a linear map after a centre is subtracted: a row per attribute, a column per output.
    Components,
    /// Words: a row per word, a column per attribute.
    Book,
}

impl TableKind {
    /// The parameter that takes such a file.
    fn name(self) -> &'static str {
        match self {
            Self::Components => "components",
            Self::Book => "book",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Components => "scumble-components 1",
            Self::Book => "scumble-book 1",
        }
    }
}

/// A public table: `value = integer * scale`.
#[derive(Clone, PartialEq)]
pub struct PublicTable {
    kind: TableKind,
    rows: usize,
    columns: usize,
    origin: Origin,
    scale: f64,
    centre: Vec<f32>, // of components: one number per attribute
    entries: Vec<i16>,
}

impl fmt::Debug for PublicTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicTable({:?}, {} x {}, from {})", self.kind, self.rows, self.columns, self.origin)
    }
}

impl PublicTable {
    /// Components: `weights` has for each attribute a number per output; `centre` one number per attribute.
    pub fn components(centre: Vec<f32>, weights: Vec<i16>, scale: f64, origin: Origin) -> Result<Self, ParameterError> {
        let (rows, columns) = (centre.len(), weights.len() / centre.len().max(1));
        Self { kind: TableKind::Components, rows, columns, origin, scale, centre, entries: weights }.checked()
    }

    /// A book of `words` words.
    pub fn book(words: usize, entries: Vec<i16>, scale: f64, origin: Origin) -> Result<Self, ParameterError> {
        let columns = entries.len() / words.max(1);
        Self { kind: TableKind::Book, rows: words, columns, origin, scale, centre: Vec::new(), entries }.checked()
    }

    fn checked(self) -> Result<Self, ParameterError> {
        Ok(Self::parse(&self.to_bytes()).map_err(ProjectionError::TableFile)?)
    }

    /// What it is for.
    pub fn kind(&self) -> TableKind {
        self.kind
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// What it was made from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The value of integer 1.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// What is subtracted from each attribute, for components.
    pub fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// Row `row` as integers.
    pub fn row(&self, row: usize) -> &[i16] {
        &self.entries[row * self.columns..][..self.columns]
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        bytes.extend(self.centre.iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(self.entries.iter().flat_map(|entry| entry.to_le_bytes()));
        bytes
    }

    /// The lines before the numbers.
    fn head(&self) -> String {
        let [rows, columns] = [self.rows, self.columns].map(|size| size.to_string());
        let (heading, from, scale) = (self.kind.heading(), self.origin.text(), exact::shortest(self.scale));
        [heading, "\nrows ", &rows, "\ncolumns ", &columns, "\nfrom ", &from, "\nscale ", &scale, "\n\n"].concat()
    }

    /// Reads the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, TableError> {
        // Five lines, an empty one, and the numbers.
        let mut parts = bytes.splitn(7, |&byte| byte == b'\n');
        let mut line = || std::str::from_utf8(parts.next()?).ok();
        let first = line().ok_or(TableError::Heading)?;
        let kind = [TableKind::Components, TableKind::Book].into_iter().find(|kind| kind.heading() == first);
        let kind = kind.ok_or(TableError::Heading)?;
        let mut field = |at: usize, name: &str, expected| {
            let value = line().and_then(|text| text.strip_prefix(name)?.strip_prefix(' '));
            value.ok_or(TableError::Expected { line: at, expected })
        };
        let rows = field(2, "rows", "rows N")?;
        let columns = field(3, "columns", "columns N")?;
        let from = field(4, "from", "from ORIGIN")?;
        let scale = field(5, "scale", "scale S")?;
        if line() != Some("") {
            return Err(TableError::Expected { line: 6, expected: "an empty line" });
        }
        let rest = parts.next().unwrap_or(&[]);
        let size = |text: &str| number(text).and_then(|n| usize::try_from(n).ok());
        let (Some(rows), Some(columns)) = (size(rows), size(columns)) else { return Err(TableError::Size) };
        let entries = rows.checked_mul(columns).filter(|entries| (1..=MOST_ENTRIES).contains(entries));
        let entries = entries.filter(|_| rows.max(columns) <= MOST_ATTRIBUTES).ok_or(TableError::Size)?;
        let origin = origin(from).ok_or(TableError::Provenance)?;
        let scale = exact::read(scale).filter(|scale| *scale > 0.0).ok_or(TableError::Scale)?;
        let centre_bytes = if kind == TableKind::Components { 4 * rows } else { 0 };
        // On 32 bits no file can be as long as the largest size asks for.
        let expected =
            entries.checked_mul(2).and_then(|bytes| bytes.checked_add(centre_bytes)).ok_or(TableError::Size)?;
        if rest.len() != expected {
            return Err(TableError::Length { found: rest.len(), expected });
        }
        let (centre, entries) = rest.split_at(centre_bytes);
        let centre: Vec<f32> = centre.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        if !centre.iter().all(|value| value.is_finite()) {
            return Err(TableError::Centre);
        }
        let entries = entries.as_chunks().0.iter().map(|two| i16::from_le_bytes(*two)).collect();
        Ok(Self { kind, rows, columns, origin, scale, centre, entries })
    }
}

/// A public table that parameters name by its hash, with its content where available.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(into = "WrittenTable", try_from = "WrittenTable")]
pub struct TableFile {
    sha256: [u8; 32],
    content: Option<Arc<PublicTable>>,
}

impl PartialEq for TableFile {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl TableFile {
    /// Of a file's bytes.
    pub fn from_file(bytes: &[u8]) -> Result<Self, ParameterError> {
        let table = PublicTable::parse(bytes).map_err(ProjectionError::TableFile)?;
        // Its numbers have one form only.
        if !bytes.starts_with(table.head().as_bytes()) {
            return Err(ProjectionError::TableForm.into());
        }
        Ok(Self { sha256: sha256(&[bytes]), content: Some(Arc::new(table)) })
    }

    /// Of a table that was just made.
    pub fn of(table: PublicTable) -> Self {
        Self { sha256: sha256(&[&table.to_bytes()]), content: Some(Arc::new(table)) }
    }

    /// SHA-256 of the file, in hexadecimal digits.
    pub fn name(&self) -> String {
        hex(&self.sha256)
    }

    /// The table, of the kind and the number of attributes that are needed.
    pub fn table(&self, kind: TableKind, dim: usize) -> Result<&Arc<PublicTable>, ParameterError> {
        let name = kind.name();
        let Some(table) = &self.content else {
            return Err(ProjectionError::TableElsewhere { table: name, sha256: self.name() }.into());
        };
        let found = if kind == TableKind::Components { table.rows } else { table.columns };
        if table.kind != kind {
            return Err(ProjectionError::TableKind { table: name }.into());
        }
        if found != dim {
            return Err(ProjectionError::TableDim { table: name, found, dim }.into());
        }
        Ok(table)
    }

    /// The content, where available.
    pub fn content(&self) -> Option<&Arc<PublicTable>> {
        self.content.as_ref()
    }

    /// Takes the content of a file if it is the one that is meant. True if it is.
    pub fn attach(&mut self, other: &Self) -> bool {
        let same = *self == *other;
        if same {
            self.content.clone_from(&other.content);
        }
        same
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    sha256: String,
    /// The file in hexadecimal digits: read where it is given, never written.
    #[serde(default, skip_serializing)]
    content: Option<String>,
}

impl From<TableFile> for WrittenTable {
    fn from(file: TableFile) -> Self {
        Self { sha256: file.name(), content: None }
    }
}

impl TryFrom<WrittenTable> for TableFile {
    type Error = ParameterError;

    fn try_from(written: WrittenTable) -> Result<Self, ParameterError> {
        let sha256 = unhex(&written.sha256).ok_or(ProjectionError::TableHash)?;
        let Some(content) = written.content else { return Ok(Self { sha256, content: None }) };
        let digit = |c: u8| (c as char).to_digit(16).map(|digit| digit as u8);
        let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Option<Vec<u8>> = content.as_bytes().as_chunks().0.iter().map(byte).collect();
        let bytes = bytes.filter(|_| content.len().is_multiple_of(2)).ok_or(ProjectionError::TableHash)?;
        let file = Self::from_file(&bytes)?;
        if file.sha256 == sha256 { Ok(file) } else { Err(ProjectionError::TableHash.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> PublicTable {
        PublicTable::components(vec![0.5, -1.0], vec![1, -2, 3, 4, 5, -6], 0.25, Origin::Made).unwrap()
    }

    #[test]
    fn files_round_trip() {
        let book = PublicTable::book(3, vec![1, 2, 3, 4, 5, 6], 0.5, Origin::Sample { rows: 9, sha256: [7; 32] });
        for table in [small(), book.unwrap()] {
            assert_eq!(PublicTable::parse(&table.to_bytes()).unwrap(), table);
            let file = TableFile::from_file(&table.to_bytes()).unwrap();
            let mut named: TableFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
            assert!(named.content().is_none() && named.attach(&file) && named.content().is_some());
            assert!(!named.attach(&TableFile::of(PublicTable { scale: 9.0, ..table })));
        }
        assert_eq!((small().shape(), small().row(1)), ((2, 3), &[4, 5, -6][..]));
        let file = TableFile::of(small());
        assert!(file.table(TableKind::Components, 2).is_ok());
        assert!(file.table(TableKind::Components, 3).is_err() && file.table(TableKind::Book, 3).is_err());
    }

    /// One fault, one error.
    #[test]
    fn every_fault_has_its_own_error() {
        use TableError::*;
        let bytes = small().to_bytes();
        let head = bytes.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
        let with = |from: &str, to: &str| {
            let text = String::from_utf8(bytes[..head].to_vec()).unwrap().replacen(from, to, 1);
            PublicTable::parse(&[text.as_bytes(), &bytes[head..]].concat()).unwrap_err()
        };
        for (from, to, error) in [
            ("scumble-components 1", "scumble-components 2", Heading),
            ("rows 2", "row 2", Expected { line: 2, expected: "rows N" }),
            ("rows 2", "rows 0", Size),
            ("rows 2", "rows 16777217", Size),
            ("columns 3", "columns x", Size),
            ("from made", "from x", Provenance),
            ("scale 0.25", "scale 0", Scale),
            ("scale 0.25", "scale inf", Scale),
            ("\n\n", "\nx\n", Expected { line: 6, expected: "an empty line" }),
            ("rows 2", "rows 3", Length { found: 20, expected: 30 }),
        ] {
            assert_eq!(with(from, to), error, "{to}");
        }
        let mut nan = bytes.clone();
        nan[head..head + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(PublicTable::parse(&nan), Err(Centre));
        assert_eq!(PublicTable::parse(&bytes[..bytes.len() - 1]), Err(Length { found: 19, expected: 20 }));
        assert_eq!(PublicTable::parse(b""), Err(Heading));
    }
}
