//! A name for a table's content, whatever file holds it.

use super::Rows;
use sha2::{Digest, Sha256};

/// SHA-256 over rows: for each the number of its attributes that are not zero, then their places and values. Dense and
/// sparse tables with the same numbers have the same hash, in any file format and number type that holds them exactly.
#[derive(Clone, Default)]
pub struct TableHash {
    hash: Sha256,
    rows: u64,
}

impl TableHash {
    /// Of one block of rows.
    pub fn of(rows: Rows<'_>) -> Self {
        let mut hash = Self::default();
        hash.update(rows);
        hash
    }

    /// Adds more rows.
    pub fn update(&mut self, rows: Rows<'_>) {
        let mut bytes = Vec::new();
        for row in 0..rows.len() {
            bytes.clear();
            rows.for_each_value(row, |attribute, value| {
                bytes.extend((attribute as u32).to_le_bytes());
                bytes.extend(value.to_le_bytes());
            });
            self.hash.update((bytes.len() as u64).to_le_bytes());
            self.hash.update(&bytes);
        }
        self.rows += rows.len() as u64;
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The hash.
    pub fn finish(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Scalars;

    #[test]
    fn one_table_has_one_hash_in_every_form() {
        let dense = [0.0f32, 2.0, 0.0, -1.0, 0.0, 0.0];
        let bytes: Vec<i16> = dense.iter().map(|&v| v as i16).collect();
        let sparse = Rows::sparse(&[0, 1, 2], &[1, 0], Scalars::F64(&[2.0, -1.0]), 3);
        let hash = TableHash::of(Rows::dense(Scalars::F32(&dense), 3)).finish();
        assert_eq!(TableHash::of(Rows::dense(Scalars::I16(&bytes), 3)).finish(), hash);
        assert_eq!(TableHash::of(sparse).finish(), hash);
        let mut parts = TableHash::of(sparse.slice(0, 1));
        parts.update(sparse.slice(1, 1));
        assert_eq!((parts.rows(), parts.finish()), (2, hash));
        let moved = Rows::sparse(&[0, 2, 2], &[0, 1], Scalars::F64(&[-1.0, 2.0]), 3);
        assert_ne!(TableHash::of(moved).finish(), hash, "rows are told apart");
    }
}
