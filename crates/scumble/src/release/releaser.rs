//! Private rows in, released bytes out: quantise, project, perturb, encode, on all cores.

use super::keyed::{self, Fingerprint, KeyedNoise};
use super::{Certificate, Content, Encoder, Encoding};
use crate::error::{DataError, ParameterError};
use crate::mechanism::Mechanism;
use crate::noise::{NoEntropy, NoiseKey, SecretRng};
use crate::vectors::{QuantisedRow, Rows};
use rayon::prelude::*;

/// Where the noise of a row comes from.
#[derive(Debug)]
pub enum NoiseSource {
    /// Fresh from the operating system: the same input twice gives other noise.
    Fresh,
    /// A keyed pseudo-random function of the row: a retried task, or an unchanged row, gives the same bytes.
    Keyed(KeyedNoise),
}

/// Why a block could not be released.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReleaseError {
    /// A fault of the private input; for its owner only.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No secret randomness to be had.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// Rows that one task takes at a time: enough to pay for its random stream, few enough to spread over the cores.
const TASK_ROWS: usize = 128;

/// A mechanism with its encoder: releases block after block, in memory that the caller sizes.
#[derive(Debug)]
pub struct Releaser {
    mechanism: Mechanism,
    encoder: Encoder,
    noise: NoiseSource,
}

impl Releaser {
    /// Fresh noise; `encoding: None` takes the mechanism's own.
    pub fn new(mechanism: Mechanism, encoding: Option<Encoding>) -> Result<Self, ParameterError> {
        let encoder = Encoder::new(&mechanism, encoding)?;
        Ok(Self { mechanism, encoder, noise: NoiseSource::Fresh })
    }

    /// The same with noise that is a function of key, mechanism, row id and the row on the grid.
    pub fn keyed(mut self, key: NoiseKey) -> Self {
        self.noise = NoiseSource::Keyed(KeyedNoise::new(key, &self.mechanism));
        self
    }

    /// The key's noise, unless noise is fresh.
    pub fn keyed_noise(&self) -> Option<&KeyedNoise> {
        match &self.noise {
            NoiseSource::Keyed(noise) => Some(noise),
            NoiseSource::Fresh => None,
        }
    }

    /// What a ledger may know of these rows before they are released, to charge for what is new. None of fresh noise.
    pub fn fingerprints(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> Vec<u8> + Sync,
    ) -> Result<Vec<Fingerprint>, ReleaseError> {
        let Some(noise) = self.keyed_noise() else { return Ok(Vec::new()) };
        let buffers = || (QuantisedRow::default(), Vec::new());
        let row = |(quantised, content): &mut (QuantisedRow, Vec<u8>), i: usize| {
            keyed::content(rows.quantise(i, self.mechanism.grid(), first_row, quantised)?, content);
            Ok(noise.fingerprint(&id(i), content))
        };
        (0..rows.len()).into_par_iter().map_init(buffers, row).collect()
    }

    /// The mechanism.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Releases a block; `out` gets `rows.len() * bytes_per_row` bytes. `id(i)` names row i for keyed noise.
    ///
    /// On an error `out` is wiped: nothing of a block that failed leaves.
    pub fn release(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> Vec<u8> + Sync,
        out: &mut Vec<u8>,
    ) -> Result<(), ReleaseError> {
        out.clear();
        out.resize(rows.len() * self.encoder.bytes_per_row(), 0);
        let result = self.release_into(rows, first_row, id, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    /// The same into memory of the right size: `rows.len() * bytes_per_row` bytes, all zero after an error.
    ///
    /// # Panics
    /// If `out` has another size.
    pub fn release_into(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> Vec<u8> + Sync,
        out: &mut [u8],
    ) -> Result<(), ReleaseError> {
        let width = self.encoder.bytes_per_row();
        assert_eq!(out.len(), rows.len() * width, "room for every row");
        let result = out.par_chunks_mut(TASK_ROWS * width).enumerate().try_for_each(|(task, bytes)| {
            let mut worker = Worker::new(self)?;
            bytes.chunks_exact_mut(width).enumerate().try_for_each(|(at, bytes)| {
                let i = task * TASK_ROWS + at;
                worker.release_row(rows, i, first_row, &id, bytes)
            })
        });
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    /// The certificate of what was released.
    pub fn certificate(&self, rows: u64, content: Content) -> Certificate {
        let certificate = Certificate::new(&self.mechanism, &self.encoder, rows, content);
        if self.keyed_noise().is_some() { certificate.sticky() } else { certificate }
    }
}

/// One task's buffers and its own stream of noise.
struct Worker<'a> {
    releaser: &'a Releaser,
    rng: SecretRng,
    quantised: QuantisedRow,
    content: Vec<u8>,
    x: Vec<i64>,
}

impl<'a> Worker<'a> {
    fn new(releaser: &'a Releaser) -> Result<Self, NoEntropy> {
        Ok(Self {
            releaser,
            rng: SecretRng::from_os()?,
            quantised: QuantisedRow::default(),
            content: Vec::new(),
            x: vec![0; releaser.mechanism.k()],
        })
    }

    fn release_row(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        first_row: u64,
        id: &impl Fn(usize) -> Vec<u8>,
        out: &mut [u8],
    ) -> Result<(), ReleaseError> {
        let mechanism = &self.releaser.mechanism;
        let u = rows.quantise(i, mechanism.grid(), first_row, &mut self.quantised)?;
        if let NoiseSource::Keyed(noise) = &self.releaser.noise {
            keyed::content(u, &mut self.content);
            self.rng = noise.stream(&id(i), &self.content);
        }
        mechanism.release_row(u, &mut self.x, &mut self.rng).map_err(|kind| DataError {
            row: first_row + i as u64,
            column: None,
            kind,
        })?;
        self.releaser.encoder.encode(&self.x, out);
        Ok(())
    }
}
