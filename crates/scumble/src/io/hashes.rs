//! What a certificate says about the released bytes themselves.

use super::column::Column;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 (hex) of each released column over its rows in order, the same for `.parquet` and `.npy`.
///
/// The sketch as its raw little-endian bytes; integers as 8 little-endian bytes, floats as 8 little-endian bytes, text
/// as UTF-8 with a line feed (0x0A) after each entry. Without ids of their own, rows have their numbers from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHashes {
    /// Of the sketches.
    pub sketch: String,
    /// Of the ids, or of the row numbers.
    pub ids: String,
    /// Of the labels, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Number of rows.
    pub rows: u64,
}

/// Computes [`ContentHashes`] block by block.
#[derive(Clone, Default)]
pub struct ContentHasher {
    sketch: Sha256,
    ids: Sha256,
    labels: Option<Sha256>,
    rows: u64,
}

impl fmt::Debug for ContentHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHasher({} rows)", self.rows)
    }
}

impl ContentHasher {
    /// Takes in the next `rows` rows.
    pub fn update(&mut self, rows: usize, sketch: &[u8], ids: Option<&Column>, labels: Option<&Column>) {
        self.sketch.update(sketch);
        match ids {
            Some(ids) => add(&mut self.ids, ids),
            None => (self.rows..self.rows + rows as u64).for_each(|row| self.ids.update(row.to_le_bytes())),
        }
        if let Some(labels) = labels {
            add(self.labels.get_or_insert_default(), labels);
        }
        self.rows += rows as u64;
    }

    /// The hashes of all that was taken in.
    pub fn finish(self) -> ContentHashes {
        let hex = |hash: Sha256| hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let Self { sketch, ids, labels, rows } = self;
        ContentHashes { sketch: hex(sketch), ids: hex(ids), labels: labels.map(hex), rows }
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
        let mut whole = ContentHasher::default();
        whole.update(2, b"abc", None, Some(&text(&["x", "y"])));
        let mut parts = ContentHasher::default();
        parts.update(1, b"ab", None, Some(&text(&["x"])));
        parts.update(1, b"c", Some(&Column::Int(vec![1])), Some(&text(&["y"])));
        let hashes = whole.finish();
        assert_eq!(hashes, parts.finish());
        // sha256("abc"), FIPS 180-2.
        assert_eq!(hashes.sketch, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let mut labels = ContentHasher::default();
        labels.update(0, b"x\ny\n", None, None);
        assert_eq!(hashes.labels, Some(labels.finish().sketch));
    }
}
