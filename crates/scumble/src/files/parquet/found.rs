//! The columns that a released file really has, and what else a folder of such files may hold.
//!
//! Strict: a column, a type, a note or a file that no release has could carry anything past the hashes, so it is refused.

use super::arrow_schema::{self, Number, Type};
use super::footer::{self, Content, Meaning, Node, Occurs, Physical};
use super::{Opened, ReadError, ReadErrorKind};
use crate::certificate::ColumnLayout;
use crate::columns::ElementType;
use crate::files::error::one_line;
use crate::files::seal::SEAL_KEY;
use crate::files::writer::CERTIFICATE_KEY;
use std::path::Path;

/// Where a file that others write says which mechanism made its rows: in its own notes, or in those of Spark's schema.
pub const MECHANISM_KEY: &str = "scumble.mechanism";

/// Under this key Spark keeps its schema, with the notes of each column.
const SPARK_SCHEMA: &str = "org.apache.spark.sql.parquet.row.metadata";

/// The columns of a release, in their order.
const NAMES: [&str; 3] = ["id", "label", "sketch"];

/// The types of the columns; every release has a sketch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::files) struct Found {
    pub(in crate::files) ids: Option<ElementType>,
    pub(in crate::files) labels: Option<ElementType>,
    pub(in crate::files) sketch: ElementType,
}

impl Opened {
    /// The columns of a released file: `id`, `label`, `sketch`, in this order, and no other.
    pub(in crate::files) fn released(&self) -> Result<Found, ReadError> {
        let mut found = [None; 3];
        let mut next = 0;
        for node in &self.footer.columns {
            let stranger = || ReadError::new(&self.path, ReadErrorKind::NotNamed(one_line(&node.name)));
            let place = NAMES.iter().position(|name| *name == node.name).filter(|place| *place >= next);
            let place = place.ok_or_else(stranger)?;
            let element = if place == 2 { sketch(node) } else { carried(node) };
            let unknown = || ReadError::new(&self.path, ReadErrorKind::ReleasedType).at_column(NAMES[place]);
            found[place] = Some(element.ok_or_else(unknown)?);
            next = place + 1;
        }
        let [ids, labels, sketch] = found;
        let sketch = sketch.ok_or_else(|| ReadError::new(&self.path, ReadErrorKind::NotARelease))?;
        Ok(Found { ids, labels, sketch })
    }

    /// Refuses notes in a footer that tell a reader to load something else: only ours, Arrow's and Spark's are known.
    pub(in crate::files) fn check_notes(&self) -> Result<(), ReadError> {
        let ours = [CERTIFICATE_KEY, SEAL_KEY, MECHANISM_KEY, arrow_schema::KEY];
        let known = |key: &str| ours.contains(&key) || key.starts_with("org.apache.spark.");
        match self.footer.pairs.iter().find(|(key, _)| !known(key)) {
            Some((key, _)) => Err(ReadError::new(&self.path, ReadErrorKind::NotNamed(one_line(key)))),
            None => Ok(()),
        }
    }

    /// Refuses a schema for Arrow's readers that is not the one we write for these columns. Others write their own.
    pub(in crate::files) fn check_arrow_schema(&self, columns: &[ColumnLayout]) -> Result<(), ReadError> {
        let shown: Vec<(&str, Type)> = columns.iter().map(|column| (column.name.as_str(), shown(column))).collect();
        match self.metadata(arrow_schema::KEY) {
            Some(schema) if schema != arrow_schema::encode(&shown) => {
                Err(ReadError::new(&self.path, ReadErrorKind::NotNamed(arrow_schema::KEY.to_owned())))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file whose rows were made by another mechanism, or by none that it names.
    pub(in crate::files) fn check_mechanism(&self, digest: &str) -> Result<(), ReadError> {
        let spark = || {
            let schema: serde_json::Value = serde_json::from_str(&self.metadata(SPARK_SCHEMA)?).ok()?;
            let sketch = schema["fields"].as_array()?.iter().find(|field| field["name"] == "sketch")?.clone();
            sketch["metadata"][MECHANISM_KEY].as_str().map(str::to_owned)
        };
        match self.metadata(MECHANISM_KEY).or_else(spark) {
            Some(found) if found == digest => Ok(()),
            found => Err(ReadError::new(&self.path, ReadErrorKind::OtherMechanism { named: found.is_some() })),
        }
    }
}

/// Ids and labels: one plain value per row.
fn carried(node: &Node) -> Option<ElementType> {
    match (footer::single_value(node)?.physical, node.meaning) {
        (Physical::Int64, Meaning::Plain | Meaning::Integer { bits: 64, signed: true }) => Some(ElementType::Int64),
        (Physical::Double, Meaning::Plain) => Some(ElementType::Float64),
        (Physical::ByteArray, Meaning::Text) => Some(ElementType::Text),
        _ => None,
    }
}

/// Sketches: bytes, or a list in three levels of plain numbers.
fn sketch(node: &Node) -> Option<ElementType> {
    if let Some(leaf) = footer::single_value(node) {
        let bytes = matches!(leaf.physical, Physical::Fixed(_) | Physical::ByteArray) && node.meaning == Meaning::Plain;
        return bytes.then_some(ElementType::Bytes);
    }
    let (element, leaf) = footer::list_elements(node)?;
    let three_levels = node.occurs != Occurs::Repeatedly && element.occurs != Occurs::Repeatedly;
    if !three_levels || !matches!(element.content, Content::Values { .. }) {
        return None;
    }
    match (leaf.physical, element.meaning) {
        (Physical::Float, Meaning::Plain) => Some(ElementType::Float32),
        (Physical::Int32, Meaning::Integer { bits: 16, signed: true }) => Some(ElementType::Int16),
        (Physical::Int32, Meaning::Integer { bits: 8, signed: true }) => Some(ElementType::Int8),
        _ => None,
    }
}

/// What Arrow's readers are told about a column.
fn shown(column: &ColumnLayout) -> Type {
    let width = column.width.map_or(0, |width| i32::try_from(width).unwrap_or(i32::MAX));
    match column.element {
        ElementType::Int64 => Type::Int(64),
        ElementType::Float64 => Type::Float64,
        ElementType::Text => Type::Text,
        ElementType::Float32 => Type::List(width, Number::Float32),
        ElementType::Int16 => Type::List(width, Number::Int(16)),
        ElementType::Int8 => Type::List(width, Number::Int(8)),
        ElementType::Bytes => Type::Bytes(width),
    }
}

/// Refuses anything in a release's folder that is neither one of its files nor a mark of the program that wrote it.
pub(in crate::files) fn check_folder(path: &Path) -> Result<(), ReadError> {
    let fault = |e: std::io::Error| ReadError::io(path, &e);
    for entry in std::fs::read_dir(path).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name().to_string_lossy().into_owned();
        let data = name.ends_with(".parquet") && !name.starts_with(['.', '_']);
        let mark = ["_SUCCESS", "certificate.json"].contains(&name.as_str())
            || ["_committed_", "_started_"].iter().any(|start| name.starts_with(start)) && !name.contains('.')
            || name.starts_with('.') && name.ends_with(".crc");
        if !data && !mark {
            return Err(ReadError::new(path, ReadErrorKind::NotNamed(one_line(&name))));
        }
    }
    Ok(())
}
