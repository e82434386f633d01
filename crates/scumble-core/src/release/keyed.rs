//! Noise that is a function of a secret key and the row itself: the same row again gives the same bytes.
//!
//! A row's noise depends on key, mechanism, id and CONTENT (the row on the grid). Without the content, two versions of a
//! row would get the same noise, and their difference would show what changed; with it, versions get unrelated noise and
//! each costs like a release of its own.

use crate::mechanism::Mechanism;
use crate::noise::{NoiseKey, SecretRng};
use crate::vectors::PrivateRow;

/// Version of the noise that a key gives. A change of any sampler or of what the key is applied to must raise it: else an
/// unchanged row would be released twice with different noise, for one price.
const VERSION: u32 = 2;

/// What a ledger knows of a row: keyed hashes that say nothing without the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// Of the id.
    pub row: [u8; 16],
    /// Of the row on the grid, bound to the id.
    pub content: [u8; 16],
}

/// A secret key bound to one mechanism.
#[derive(Debug)]
pub struct KeyedNoise {
    key: NoiseKey,
    mechanism: Vec<u8>,
}

impl KeyedNoise {
    pub(super) fn new(key: NoiseKey, mechanism: &Mechanism) -> Self {
        Self { key, mechanism: [&VERSION.to_le_bytes()[..], &mechanism.digest()].concat() }
    }

    /// A stream to begin with; [`start`](Self::start) makes it the noise of a row.
    pub(super) fn stream(&self) -> SecretRng {
        SecretRng::keyed(&self.key, &[b"none"])
    }

    /// Makes `rng` the noise of a row.
    pub(super) fn start(&self, rng: &mut SecretRng, id: &[u8], content: &[u8]) {
        rng.restart(&self.key, &[b"noise", &self.mechanism, id, content]);
    }

    pub(super) fn fingerprint(&self, id: &[u8], content: &[u8]) -> Fingerprint {
        let short = |hash: [u8; 32]| hash[..16].try_into().expect("16 of 32 bytes");
        Fingerprint {
            row: short(self.key.hash(&[b"row", &self.mechanism, id])),
            content: short(self.key.hash(&[b"content", &self.mechanism, id, content])),
        }
    }

    /// The name under which a ledger keeps what this key and mechanism have shown of a data set.
    pub fn name(&self, dataset: &str) -> [u8; 32] {
        self.key.hash(&[b"stream", &self.mechanism, dataset.as_bytes()])
    }
}

/// The row on the grid as bytes, no two rows alike: attributes that are not zero, so that dense and sparse rows agree.
///
/// One byte for the width of a value; values one after the other; where attributes were left out a zero, which is no
/// value, and the place of the next one.
pub(super) fn content(u: PrivateRow<'_>, out: &mut Vec<u8>) {
    out.clear();
    let narrow = u.entries().all(|(_, value)| i16::try_from(value).is_ok());
    out.push(if narrow { 2 } else { 8 });
    let put = |out: &mut Vec<u8>, value: i64| match narrow {
        true => out.extend((value as i16).to_le_bytes()),
        false => out.extend(value.to_le_bytes()),
    };
    let mut next = 0;
    for (attribute, value) in u.entries() {
        if attribute != next {
            put(out, 0);
            out.extend((attribute as u64).to_le_bytes());
        }
        put(out, value);
        next = attribute + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_that_differ_have_different_content() {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        let values = [0, 1, -1, 2, 256, 40_000];
        for code in 0..values.len().pow(4) {
            let row: Vec<i32> = (0..4).map(|place| values[code / values.len().pow(place) % values.len()]).collect();
            content(PrivateRow::Dense(&row), &mut out);
            assert!(seen.insert(out.clone()), "{row:?}");
            let index: Vec<u32> = (0..4).filter(|&j| row[j as usize] != 0).collect();
            let value: Vec<i32> = row.iter().copied().filter(|&q| q != 0).collect();
            let dense = out.clone();
            content(PrivateRow::Sparse { dim: 4, index: &index, value: &value }, &mut out);
            assert_eq!(out, dense);
        }
    }
}
