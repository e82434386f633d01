//! Noise that is a function of a secret key and the row itself: the same row again gives the same bytes.
//!
//! A row's noise depends on key, mechanism, id and CONTENT (the row on the grid). Without the content, two versions of a
//! row would get the same noise, and their difference would show what changed; with it, versions get unrelated noise and
//! each costs like a release of its own.

use crate::mechanism::Mechanism;
use crate::noise::{NoiseKey, SecretRng};
use crate::projection::Projection;
use crate::vectors::PrivateRow;
use serde_json::json;
use sha2::{Digest, Sha256};

/// Version of the noise that a key gives. A change of any sampler or of what the key is applied to must raise it: else an
/// unchanged row would be released twice with different noise, for one price.
const VERSION: u32 = 1;

/// What a ledger knows of a row: keyed hashes that say nothing without the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    mechanism: [u8; 32],
}

impl KeyedNoise {
    pub(super) fn new(key: NoiseKey, mechanism: &Mechanism) -> Self {
        // Everything that decides what becomes of a row and its noise; the encoding does not, it comes after.
        let all = json!([
            VERSION,
            Projection::VERSION,
            mechanism.parameters(),
            mechanism.grid().exponent(),
            mechanism.perturbation().describe(),
        ]);
        Self { key, mechanism: Sha256::digest(all.to_string()).into() }
    }

    /// The noise of a row.
    pub(super) fn stream(&self, id: &[u8], content: &[u8]) -> SecretRng {
        SecretRng::keyed(&self.key, &[b"noise", &self.mechanism, id, content])
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

/// The row on the grid as bytes: attributes that are not zero, so that dense and sparse rows agree.
pub(super) fn content(u: PrivateRow<'_>, out: &mut Vec<u8>) {
    out.clear();
    for (attribute, value) in u.entries() {
        out.extend((attribute as u64).to_le_bytes());
        out.extend(value.to_le_bytes());
    }
}
