//! What a certificate says about the released bytes themselves.

use super::{ColumnLayout, Layout};
use crate::columns::{Column, ElementType};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 (hex) of each released column over its rows in order, and what the columns are.
///
/// The sketch as its raw little-endian bytes; integers and floats as 8 little-endian bytes each; text as UTF-8 with a
/// line feed (0x0A) after each entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHashes {
    /// Of the sketches.
    pub sketch: String,
    /// Of the ids, if there are any. A Parquet release always has them: the row numbers where the input has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<String>,
    /// Of the labels, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Names and types of the columns.
    pub layout: Layout,
}

/// Computes [`ContentHashes`] block by block.
#[derive(Clone)]
pub struct ContentHasher {
    layout: ColumnLayout,
    sketch: Sha256,
    ids: Option<(ElementType, Sha256)>,
    labels: Option<(ElementType, Sha256)>,
    rows: u64,
}

impl fmt::Debug for ContentHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHasher({} rows)", self.rows)
    }
}

impl ContentHasher {
    /// For sketches of this layout.
    pub fn new(sketch: ColumnLayout) -> Self {
        Self { layout: sketch, sketch: Sha256::new(), ids: None, labels: None, rows: 0 }
    }

    /// Takes in the next `rows` rows.
    pub fn update(&mut self, rows: usize, sketch: &[u8], ids: Option<&Column>, labels: Option<&Column>) {
        self.sketch.update(sketch);
        for (hash, column) in [(&mut self.ids, ids), (&mut self.labels, labels)] {
            if let Some(column) = column {
                add(&mut hash.get_or_insert_with(|| (column.element(), Sha256::new())).1, column);
            }
        }
        self.rows += rows as u64;
    }

    /// The hashes of all that was taken in.
    pub fn finish(self) -> ContentHashes {
        let hex = |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let Self { layout, sketch, ids, labels, rows } = self;
        let element = |column: &Option<(ElementType, Sha256)>| column.as_ref().map(|(element, _)| *element);
        let layout = Layout::new(element(&ids), element(&labels), layout);
        let [ids, labels] = [ids, labels].map(|column| column.map(|(_, hash)| hex(hash)));
        ContentHashes { sketch: hex(sketch), ids, labels, rows, layout }
    }
}

fn add(hash: &mut Sha256, column: &Column) {
    match column {
        Column::Int(v) => v.iter().for_each(|x| hash.update(x.to_le_bytes())),
        Column::Float(v) => v.iter().for_each(|x| hash.update(x.to_le_bytes())),
        Column::Text(v) => v.iter().for_each(|x| {
            hash.update(x);
            hash.update(b"\n");
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_matter_and_the_values_are_fixed() {
        let text = |words: &[&str]| Column::Text(words.iter().map(|w| (*w).to_owned()).collect());
        let mut whole = ContentHasher::new(ColumnLayout::sketch(ElementType::Bytes, 1));
        whole.update(2, b"abc", None, Some(&text(&["x", "y"])));
        let mut parts = ContentHasher::new(ColumnLayout::sketch(ElementType::Bytes, 1));
        parts.update(1, b"ab", None, Some(&text(&["x"])));
        parts.update(1, b"c", None, Some(&text(&["y"])));
        let hashes = whole.finish();
        assert_eq!(hashes, parts.finish());
        // sha256("abc"), FIPS 180-2.
        assert_eq!(hashes.sketch, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let mut labels = ContentHasher::new(ColumnLayout::sketch(ElementType::Bytes, 1));
        labels.update(0, b"x\ny\n", None, None);
        assert_eq!(hashes.labels, Some(labels.finish().sketch));
    }
}
