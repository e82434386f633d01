//! Parquet: vectors in a list column, ids and labels beside them; one file, or a folder of files in name order.
//!
//! Only the footer of a file and the headers of its pages must be read in order. Each thread that takes rows reads,
//! decompresses and checks their pages itself, so that all cores decode, and memory does not grow with the size of a row
//! group. Values go from a page into the row buffer; levels are checked as the runs that they are stored as.

mod arrow_schema;
mod codec;
mod flat;
mod footer;
mod found;
mod hybrid;
mod pages;
mod sketches;
mod source;
mod thrift;
mod values;
mod vectors;
mod write;

pub use found::MECHANISM_KEY;
pub(super) use found::{Found, check_folder};
pub(super) use sketches::{SketchBlock, SketchPiece, Sketches};
pub(super) use source::{names, open, open_groups, read_labels, row_groups};
pub use write::write_table;
pub(crate) use write::{FileWriter, Sketch};

use super::array::Element;
use super::columns::find_column;
use super::error::{ReadError, ReadErrorKind};
use super::input;
use crate::columns::ColumnKind;
use flat::Carried;
use footer::{Content, Footer, Leaf, Meaning, Node, Occurs, Physical};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"PAR1";

/// Most rows that are decoded at once, however narrow they are.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// A file whose footer has been read.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) path: PathBuf,
    file: File,
    size: u64,
    footer: Footer,
    names: Vec<String>,
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Arc<Self>, ReadError> {
        let file = input::open_file(path)?;
        let size = file.metadata().map_err(|e| ReadError::io(path, &e))?.len();
        let footer = read_footer(path, &file, size)?;
        let names = footer.columns.iter().map(|column| column.name.clone()).collect();
        Ok(Arc::new(Self { path: path.to_owned(), file, size, footer, names }))
    }

    pub(super) fn find(&self, asked: Option<&str>, default: &str) -> Result<Option<usize>, ReadError> {
        find_column(&self.path, &self.names, asked, default)
    }

    pub(super) fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// The text stored under a key of the footer.
    pub(super) fn metadata(&self, key: &str) -> Option<String> {
        self.footer.pairs.iter().find(|(name, _)| name == key)?.1.clone()
    }

    /// Bytes of the file.
    fn read(&self, at: u64, out: &mut [u8]) -> Result<(), ReadErrorKind> {
        input::read_at(&self.file, at, out).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => ReadErrorKind::Changed,
            _ => ReadError::io(&self.path, &e).kind,
        })
    }

    fn column_error(&self, column: usize, kind: ReadErrorKind) -> ReadError {
        ReadError::new(&self.path, kind).at_column(&self.names[column])
    }

    /// A column of ids or labels.
    pub(super) fn carried(&self, column: usize, is_id: bool) -> Result<Carried, ReadError> {
        let node = &self.footer.columns[column];
        let found = footer::single_value(node).and_then(|leaf| Some((leaf, kind(node, leaf.physical, is_id)?)));
        let Some((leaf, kind)) = found else {
            let name = if node.occurs == Occurs::Repeatedly { "List".to_owned() } else { node.type_name() };
            let kind = if is_id { ReadErrorKind::IdType(name) } else { ReadErrorKind::LabelType(name) };
            return Err(self.column_error(column, kind));
        };
        Ok(Carried { name: node.name.clone(), leaf, meaning: node.meaning, kind })
    }

    /// A column of lists of numbers.
    fn vectors(&self, column: usize) -> Result<(Leaf, Element), ReadError> {
        let node = &self.footer.columns[column];
        let Some((element, leaf)) = footer::list_elements(node) else {
            return Err(self.column_error(column, ReadErrorKind::VectorType(node.type_name())));
        };
        let name = || ReadErrorKind::ElementType(element.type_name());
        Ok((leaf, number(element).ok_or_else(|| self.column_error(column, name()))?))
    }
}

fn read_footer(path: &Path, file: &File, size: u64) -> Result<Footer, ReadError> {
    let fault = |kind| ReadError::new(path, kind);
    let corrupt = |what: &str| fault(ReadErrorKind::Corrupt(what.to_owned()));
    let read = |at: u64, out: &mut [u8]| input::read_at(file, at, out).map_err(|e| ReadError::io(path, &e));
    let (mut start, mut end) = ([0; 4], [0; 8]);
    if size < 4 {
        return Err(fault(ReadErrorKind::WrongMagic("a Parquet")));
    }
    read(0, &mut start)?;
    if start != *MAGIC {
        return Err(fault(ReadErrorKind::WrongMagic("a Parquet")));
    }
    if size < 12 {
        return Err(corrupt("no footer, the file is cut short"));
    }
    read(size - 8, &mut end)?;
    let (length, magic) = end.split_at(4);
    if magic != MAGIC {
        return Err(corrupt("no footer, the file is cut short"));
    }
    let length = u64::from(u32::from_le_bytes(length.try_into().expect("4 bytes")));
    if length > size - 12 {
        return Err(corrupt("the footer is longer than the file"));
    }
    let mut bytes = vec![0; length as usize];
    read(size - 8 - length, &mut bytes)?;
    Footer::parse(&bytes).map_err(|e| fault(e.into()))
}

/// What a column of ids or labels holds.
fn kind(node: &Node, physical: Physical, is_id: bool) -> Option<ColumnKind> {
    Some(match (physical, node.meaning) {
        (Physical::ByteArray, Meaning::Text) => ColumnKind::Text,
        (Physical::Int32 | Physical::Int64, Meaning::Plain | Meaning::Integer { .. }) => ColumnKind::Int,
        (Physical::Boolean, Meaning::Plain) if !is_id => ColumnKind::Int,
        (Physical::Float | Physical::Double, Meaning::Plain) if !is_id => ColumnKind::Float,
        (Physical::Fixed(2), Meaning::Float16) if !is_id => ColumnKind::Float,
        _ => return None,
    })
}

/// The type of the elements of a list.
fn number(node: &Node) -> Option<Element> {
    let Content::Values { physical, .. } = node.content else { return None };
    Some(match (physical, node.meaning) {
        (Physical::Fixed(2), Meaning::Float16) => Element::F16,
        (Physical::Float, Meaning::Plain) => Element::F32,
        (Physical::Double, Meaning::Plain) => Element::F64,
        (Physical::Int32, Meaning::Integer { bits: 8, signed: true }) => Element::I8,
        (Physical::Int32, Meaning::Integer { bits: 8, signed: false }) => Element::U8,
        (Physical::Int32, Meaning::Integer { bits: 16, signed: true }) => Element::I16,
        (Physical::Int32, Meaning::Integer { bits: 16, signed: false }) => Element::U16,
        (Physical::Int32, Meaning::Plain | Meaning::Integer { bits: 32, signed: true }) => Element::I32,
        (Physical::Int32, Meaning::Integer { bits: 32, signed: false }) => Element::U32,
        (Physical::Int64, Meaning::Plain | Meaning::Integer { bits: 64, signed: true }) => Element::I64,
        (Physical::Int64, Meaning::Integer { bits: 64, signed: false }) => Element::U64,
        _ => return None,
    })
}
