//! Noise that is a function of a secret key and the row itself: the same row again gives the same bytes.
//!
//! A row's noise depends on key, mechanism, id and CONTENT (the row on the grid). Without the content, two versions of a
//! row would get the same noise, and their difference would show what changed; with it, versions get unrelated noise
//! and each costs as much as a release of its own.

use crate::mechanism::{Mechanism, Perturbation};
use crate::noise::{BlockNoise, Keyed, KeyedStreams, NoiseKey};
use crate::simd::LANES;
use crate::vectors::content::{ContentHash, Evaluations};
use crate::vectors::{Grid, PrivateRow};

/// Version of the noise that a key gives. A change of any sampler, or of what the key is applied to, must raise it:
/// else an unchanged row would be released twice with different noise, for one price.
const VERSION: u32 = 3;

/// What a ledger knows about a row: keyed hashes that reveal nothing without the key.
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
        let (size, tables) = ((mechanism.parameters().dim, mechanism.k()), mechanism.perturbation().tables());
        Self::of(key, &mechanism.digest(), mechanism.grid(), size, tables)
    }

    /// For the mechanism of this digest, with rows of this many attributes and outputs.
    pub(super) fn of(
        key: NoiseKey,
        digest: &[u8; 32],
        grid: &Grid,
        (dim, k): (usize, usize),
        tables: Option<BlockNoise>,
    ) -> Self {
        let name = [&VERSION.to_le_bytes()[..], digest].concat();
        Self { keyed: Keyed::new(key, name, grid, dim), tables, k }
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

    /// Where the stream of one row begins, and what a ledger knows about it.
    pub(super) fn row(&self, u: PrivateRow<'_>, id: &[u8]) -> (u128, Fingerprint) {
        let (row, mut start, mut print) = ([(self.content().row(u), id)], [0], [Fingerprint::default()]);
        self.starts(row.into_iter(), &mut start);
        self.fingerprints(row.into_iter(), &mut print);
        (start[0], print[0])
    }

    /// Perturbs the projected row whose stream begins there, as a block would.
    pub(super) fn perturb(&self, start: u128, perturbation: &Perturbation, x: &mut [i64], streams: &mut KeyedStreams) {
        streams.begin(std::iter::once(start));
        perturbation.apply_keyed(x, self.tables.as_ref(), streams);
    }

    /// What a ledger knows about rows, at most [`LANES`] of them, each with its id.
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

    /// The key by which a person's rows are chosen: the same rows in every release with this key, by any mechanism.
    pub fn person_key(&self) -> NoiseKey {
        self.keyed.derived(b"rows of a person")
    }

    /// The name under which a ledger keeps what this key and mechanism have shown about a data set.
    pub fn name(&self, dataset: &str) -> [u8; 32] {
        self.keyed.hash(b"stream", dataset.as_bytes())
    }
}
