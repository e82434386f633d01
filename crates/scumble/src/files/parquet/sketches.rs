//! The sketches of a release's files, read back.

use super::flat::{Carried, Flat};
use super::footer::{self, Leaf, Meaning, Physical};
use super::vectors::{self, Part, Vectors};
use super::{MOST_ROWS, Opened};
use crate::columns::{Column, ColumnKind};
use crate::files::array::Element;
use crate::files::error::{ReadError, ReadErrorKind};
use crate::files::input::{self, Pool};
use std::sync::Arc;

/// Reads the sketches of one file of a release, with their ids and labels.
pub(in crate::files) struct Sketches {
    file: Arc<Opened>,
    ids: Option<Carried>,
    labels: Option<Carried>,
    column: SketchColumn,
    next_group: usize,
    group: Option<SketchGroup>,
    row: u64,
    pool: Pool,
}

/// How the sketches of a file are stored.
enum SketchColumn {
    /// Lists of numbers, or byte strings of one width.
    Fixed { leaf: Leaf, dim: usize, element: Option<Element> },
    /// Byte strings.
    Binary(Carried),
}

struct SketchGroup {
    left: u64,
    sketches: SketchRows,
    ids: Option<Flat>,
    labels: Option<Flat>,
}

#[allow(clippy::large_enum_variant)] // one per piece
enum SketchRows {
    Fixed(Vectors, Option<Element>),
    Binary(Flat),
}

/// Sketches of some rows, yet to be decoded.
pub(in crate::files) struct SketchPiece {
    rows: usize,
    ids: Option<Column>,
    labels: Option<Column>,
    sketches: PendingSketches,
}

/// Sketches of some rows, little-endian, with their ids and labels.
pub(in crate::files) struct SketchBlock {
    pub(in crate::files) rows: usize,
    pub(in crate::files) bytes: Vec<u8>,
    pub(in crate::files) ids: Option<Column>,
    pub(in crate::files) labels: Option<Column>,
}

enum PendingSketches {
    Fixed(Part, Option<Element>),
    Binary(Vec<u8>),
}

impl Sketches {
    /// The first row of the file has the number `row`.
    pub(in crate::files) fn new(
        file: Arc<Opened>,
        ids: Option<Carried>,
        labels: Option<Carried>,
        row: u64,
    ) -> Result<Self, ReadError> {
        let column = sketch_column(&file)?;
        Ok(Self { file, ids, labels, column, next_group: 0, group: None, row, pool: Pool::default() })
    }

    /// The next rows; `None` at the end of the file.
    pub(in crate::files) fn next(&mut self) -> Result<Option<SketchPiece>, ReadError> {
        while self.group.as_ref().is_none_or(|group| group.left == 0) {
            let number = self.next_group;
            let Some(group) = self.file.footer.groups.get(number) else { return Ok(None) };
            self.next_group += 1;
            let (file, row, pool) = (&self.file, self.row, &self.pool);
            if group.rows == 0 {
                continue;
            }
            let flat = |carried: &Option<Carried>| {
                carried.as_ref().map(|carried| Flat::new(file, carried, number, row, pool)).transpose()
            };
            let sketches = match &self.column {
                SketchColumn::Fixed { leaf, dim, element } => {
                    SketchRows::Fixed(Vectors::new(file, *leaf, number, "sketch", *dim, row, pool)?, *element)
                }
                SketchColumn::Binary(carried) => SketchRows::Binary(Flat::new(file, carried, number, row, pool)?),
            };
            let (ids, labels) = (flat(&self.ids)?, flat(&self.labels)?);
            self.group = Some(SketchGroup { left: group.rows, sketches, ids, labels });
        }
        let group = self.group.as_mut().expect("opened above");
        let width = match &group.sketches {
            SketchRows::Fixed(vectors, _) => vectors.row_bytes(),
            SketchRows::Binary(_) => 1 << 10,
        };
        let rows = input::batch_rows(MOST_ROWS, width).min(usize::try_from(group.left).unwrap_or(usize::MAX));
        let sketches = match &mut group.sketches {
            SketchRows::Fixed(vectors, element) => PendingSketches::Fixed(vectors.take(rows)?, *element),
            SketchRows::Binary(flat) => PendingSketches::Binary(equal_texts(flat, rows)?),
        };
        let ids = group.ids.as_mut().map(|ids| ids.take(rows)).transpose()?;
        let labels = group.labels.as_mut().map(|labels| labels.take(rows)).transpose()?;
        group.left -= rows as u64;
        self.row += rows as u64;
        Ok(Some(SketchPiece { rows, ids, labels, sketches }))
    }
}

/// Byte strings of one length, one after another.
fn equal_texts(flat: &mut Flat, rows: usize) -> Result<Vec<u8>, ReadError> {
    let (mut bytes, mut width) = (Vec::new(), None);
    flat.texts(rows, |row, text| {
        let expected = *width.get_or_insert(text.len());
        if text.len() != expected || expected == 0 {
            return Err((row, ReadErrorKind::Dimension { found: text.len() as u64, expected: expected as u64 }));
        }
        bytes.extend_from_slice(text);
        Ok(())
    })?;
    Ok(bytes)
}

fn sketch_column(file: &Arc<Opened>) -> Result<SketchColumn, ReadError> {
    let column = file.find(Some("sketch"), "")?.expect("asked for");
    let node = &file.footer.columns[column];
    if let Some(leaf) = footer::single_value(node) {
        match leaf.physical {
            Physical::Fixed(_) if node.meaning == Meaning::Plain => {
                return Ok(SketchColumn::Fixed { leaf, dim: 1, element: None });
            }
            Physical::ByteArray if node.meaning == Meaning::Plain => {
                let (name, meaning) = (node.name.clone(), node.meaning);
                return Ok(SketchColumn::Binary(Carried { name, leaf, meaning, kind: ColumnKind::Text }));
            }
            _ => {}
        }
    }
    let (leaf, element) = file.vectors(column)?;
    if !matches!(element, Element::F32 | Element::I16 | Element::I8 | Element::U8) {
        let kind = ReadErrorKind::ElementType(format!("{element:?}"));
        return Err(file.column_error(column, kind));
    }
    let dim = if file.rows() == 0 { 1 } else { vectors::first_length(file, leaf, "sketch")? };
    Ok(SketchColumn::Fixed { leaf, dim, element: Some(element) })
}

impl SketchPiece {
    /// Reads the sketches.
    pub(in crate::files) fn decode(self) -> Result<SketchBlock, ReadError> {
        let Self { rows, ids, labels, sketches } = self;
        let bytes = match sketches {
            PendingSketches::Binary(bytes) => bytes,
            PendingSketches::Fixed(part, element) => {
                let mut plain = vec![0; part.bytes()];
                part.fill(&mut plain)?;
                let ints = || plain.as_chunks::<4>().0.iter();
                match element {
                    Some(Element::I16) => ints().flat_map(|x| [x[0], x[1]]).collect(),
                    Some(Element::I8 | Element::U8) => ints().map(|x| x[0]).collect(),
                    _ => plain,
                }
            }
        };
        Ok(SketchBlock { rows, bytes, ids, labels })
    }
}
