//! Noise that is a function of a secret key and the row itself: the same row again gives the same bytes.
//!
//! A row's noise depends on key, mechanism, id and CONTENT (the row on the grid). Without the content, two versions of a
//! row would get the same noise, and their difference would show what changed; with it, versions get unrelated noise and
//! each costs like a release of its own.

use crate::mechanism::{Mechanism, Perturbation};
use crate::noise::{BlockNoise, Keyed, KeyedStreams, NoiseKey};
use crate::simd::LANES;
use crate::vectors::content::{ContentHash, Evaluations};

/// Version of the noise that a key gives. A change of any sampler or of what the key is applied to must raise it: else an
/// unchanged row would be released twice with different noise, for one price.
const VERSION: u32 = 3;

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
    keyed: Keyed,
    tables: Option<BlockNoise>,
    k: usize,
}

impl KeyedNoise {
    pub(super) fn new(key: NoiseKey, mechanism: &Mechanism) -> Self {
        let name = [&VERSION.to_le_bytes()[..], &mechanism.digest()].concat();
        Self {
            keyed: Keyed::new(key, name, mechanism.grid(), mechanism.parameters().dim),
            tables: mechanism.perturbation().tables(),
            k: mechanism.k(),
        }
    }

    /// The hash of rows on the grid.
    pub(super) fn content(&self) -> &ContentHash {
        self.keyed.content()
    }

    /// Room for the streams of a block.
    pub(super) fn streams(&self) -> KeyedStreams {
        self.keyed.streams(self.k)
    }

    /// Where the streams of rows begin: a number for each row with its id.
    pub(super) fn starts<'i>(&self, rows: impl Iterator<Item = (Evaluations, &'i [u8])>, starts: &mut [u128]) {
        self.keyed.starts(rows, starts);
    }

    /// Perturbs the projected row whose stream begins there, as a block would.
    pub(super) fn perturb(&self, start: u128, perturbation: &Perturbation, x: &mut [i64], streams: &mut KeyedStreams) {
        streams.begin(std::iter::once(start));
        perturbation.apply_keyed(x, self.tables.as_ref(), streams);
    }

    /// What a ledger knows of rows, at most [`LANES`] of them: of each with its id.
    pub(super) fn fingerprints<'i>(
        &self,
        rows: impl Iterator<Item = (Evaluations, &'i [u8])>,
        prints: &mut [Fingerprint],
    ) {
        let mut numbers = [[0; 2]; LANES];
        let numbers = &mut numbers[..prints.len()];
        self.keyed.fingerprints(rows, numbers);
        for (print, numbers) in prints.iter_mut().zip(numbers) {
            let [row, content] = numbers.map(u128::to_le_bytes);
            *print = Fingerprint { row, content };
        }
    }

    /// The key by which rows of a person are chosen: the same rows in every release with this key, by any mechanism.
    pub fn person_key(&self) -> NoiseKey {
        self.keyed.derived(b"rows of a person")
    }

    /// The name under which a ledger keeps what this key and mechanism have shown of a data set.
    pub fn name(&self, dataset: &str) -> [u8; 32] {
        self.keyed.hash(b"stream", dataset.as_bytes())
    }
}
