//! Private rows in, released bytes out: quantise, project, perturb, encode, on all cores.

use super::encoder::EncoderRoom;
use super::keyed::{Fingerprint, KeyedNoise};
use super::{Encoder, Encoding};
use crate::entropy::NoEntropy;
use crate::error::{DataError, ParameterError};
use crate::mechanism::{BlockPerturbation, Cap, Mechanism, Perturbation, Released};
use crate::noise::{KeyedStreams, NoiseKey, SecretRng};
use crate::parallel;
use crate::projection::{BlockProjector, LANES, Room, Sketches};
use crate::simd;
use crate::vectors::content::{Contents, Evaluations};
use crate::vectors::{PrivateRow, QuantisedRow, Rows};
use std::fmt;
use zeroize::Zeroizing;

/// Where the noise of a row comes from.
#[derive(Debug)]
pub enum NoiseSource {
    /// Fresh from the operating system: the same input twice gives different noise.
    Fresh,
    /// A keyed pseudo-random function of the row: a retried task, or an unchanged row, gives the same bytes.
    Keyed(Box<KeyedNoise>),
}

/// Why a block could not be released.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReleaseError {
    /// A fault of the private input; for its owner only.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No secret randomness was available.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// A row is not the one that was paid for: it changed after it was inspected.
    #[error("row {row}: changed after it was charged; try again when nothing writes to it")]
    Unpaid {
        /// Row, counted from 0 over the whole input.
        row: u64,
    },
}

/// Rows that one task takes at a time, in blocks: few enough to spread over the cores.
const TASK_ROWS: usize = 4 * LANES;
/// Fewer rows than this go one by one: a block costs the same for one row as for all its lanes.
const LEAST_BLOCK: usize = 6;

/// A mechanism with its encoder: releases block after block, in memory that the caller sizes.
#[derive(Debug)]
pub struct Releaser {
    mechanism: Mechanism,
    encoder: Encoder,
    noise: NoiseSource,
    projector: Option<BlockProjector>,
    perturbation: Option<BlockPerturbation>,
}

impl Releaser {
    /// Fresh noise; `encoding: None` takes the mechanism's own.
    pub fn new(mechanism: Mechanism, encoding: Option<Encoding>) -> Result<Self, ParameterError> {
        simd::check()?;
        let encoder = Encoder::new(&mechanism, encoding)?;
        let projector = if cfg!(feature = "blocks") { mechanism.block_projector() } else { None };
        let bound = projector.as_ref().map(BlockProjector::bound);
        let perturbation = bound.and_then(|bound| BlockPerturbation::new(mechanism.perturbation(), bound));
        Ok(Self { mechanism, encoder, noise: NoiseSource::Fresh, projector, perturbation })
    }

    /// The same without blocks: row by row, as the algorithms are written. What blocks are checked against.
    #[cfg(any(test, feature = "testing"))]
    pub fn row_by_row(mut self) -> Self {
        (self.projector, self.perturbation) = (None, None);
        self
    }

    /// The same with noise that is a function of key, mechanism, row id and the row on the grid.
    pub fn keyed(mut self, key: NoiseKey) -> Self {
        self.take_key(key);
        self
    }

    /// Continues with noise from this key.
    pub fn take_key(&mut self, key: NoiseKey) {
        self.noise = NoiseSource::Keyed(Box::new(KeyedNoise::new(key, &self.mechanism)));
    }

    /// The key's noise; `None` if noise is fresh.
    pub fn keyed_noise(&self) -> Option<&KeyedNoise> {
        match &self.noise {
            NoiseSource::Keyed(noise) => Some(noise),
            NoiseSource::Fresh => None,
        }
    }

    /// What a ledger may know about these rows before they are released, to charge for what is new. `None` if fresh.
    pub fn fingerprints<N: AsRef<[u8]>>(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N + Sync,
    ) -> Result<Vec<Fingerprint>, ReleaseError> {
        let Some(noise) = self.keyed_noise() else { return Ok(Vec::new()) };
        let mut prints = vec![Fingerprint::default(); rows.len()];
        let work = |quantised: &mut QuantisedRow, task: usize, out: &mut [Fingerprint]| {
            for (block, prints) in out.chunks_mut(LANES).enumerate() {
                let start = task * TASK_ROWS + block * LANES;
                let mut contents = [Evaluations::default(); LANES];
                for (i, content) in (start..start + prints.len()).zip(&mut contents) {
                    *content = noise.content().row(self.quantise(rows, i, first_row, quantised)?);
                }
                let ids: Vec<_> = (start..start + prints.len()).map(&id).collect();
                noise.fingerprints(with_ids(&contents, &ids), prints);
            }
            Ok::<_, ReleaseError>(())
        };
        parallel::try_chunks(&mut prints, TASK_ROWS, QuantisedRow::default, work)?;
        Ok(prints)
    }

    /// The first row with the key's noise, by itself: what a ledger may know about it, and its released bytes. The same
    /// as [`fingerprints`](Self::fingerprints) and [`release`](Self::release), in a tenth of their code. Needs a key.
    pub fn release_one(&self, rows: Rows<'_>, id: &[u8]) -> Result<(Fingerprint, Vec<u8>), ReleaseError> {
        let noise = self.keyed_noise().ok_or(NoEntropy)?;
        let mut quantised = QuantisedRow::default();
        let u = rows.quantise(0, self.mechanism.grid(), 0, &mut quantised)?;
        let mut x = Zeroizing::new(vec![0; self.mechanism.k()]);
        self.mechanism.project_row(u, &mut x).map_err(|kind| DataError { row: 0, column: None, kind })?;
        let (start, print) = noise.row(u, id);
        noise.perturb(start, self.mechanism.perturbation(), &mut x, &mut noise.streams());
        let mut out = vec![0; self.encoder.bytes_per_row()];
        self.encoder.encode(&x, &mut out);
        Ok((print, out))
    }

    /// Row `i` on the grid.
    fn quantise<'b>(
        &self,
        rows: Rows<'_>,
        i: usize,
        first_row: u64,
        buffer: &'b mut QuantisedRow,
    ) -> Result<PrivateRow<'b>, DataError> {
        match &self.projector {
            Some(projector) if projector.takes(rows) => projector.quantise(rows, i, first_row, buffer),
            _ => rows.quantise(i, self.mechanism.grid(), first_row, buffer),
        }
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
    /// On an error `out` is wiped: nothing of a failed block leaves.
    pub fn release<N: AsRef<[u8]>>(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N + Sync,
        out: &mut Vec<u8>,
    ) -> Result<(), ReleaseError> {
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
    pub fn release_into<N: AsRef<[u8]>>(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N + Sync,
        out: &mut [u8],
    ) -> Result<(), ReleaseError> {
        self.release_paid(rows, first_row, id, None, out)
    }

    /// The same for rows of a sticky release that were paid for: what is released is compared, row by row, with the
    /// fingerprints that the ledger was charged for, from the very integers that are released.
    ///
    /// # Panics
    /// If `out` has another size, or there is not one fingerprint per row.
    pub fn release_paid<N: AsRef<[u8]>>(
        &self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N + Sync,
        paid: Option<&[Fingerprint]>,
        out: &mut [u8],
    ) -> Result<(), ReleaseError> {
        let width = self.encoder.bytes_per_row();
        assert_eq!(out.len(), rows.len() * width, "room for every row");
        assert!(paid.is_none_or(|paid| paid.len() == rows.len()), "one fingerprint per row");
        let work = |worker: &mut Result<Worker<'_>, NoEntropy>, task: usize, out: &mut [u8]| {
            let worker = worker.as_mut().map_err(|error| *error)?;
            worker.release_from(rows, task * TASK_ROWS, out, first_row, &id, paid)
        };
        let result = parallel::try_chunks(out, TASK_ROWS * width, || self.worker(), work);
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    /// A worker that releases batch after batch on the thread that calls it.
    pub fn worker(&self) -> Result<Worker<'_>, NoEntropy> {
        let block = |projector: &BlockProjector| BlockRoom {
            room: Room::default(),
            sketches: projector.sketches(),
            released: Released::default(),
            encoding: EncoderRoom::default(),
            values: Vec::new(),
        };
        Ok(Worker {
            releaser: self,
            draws: match &self.noise {
                NoiseSource::Fresh => Draws::Fresh(SecretRng::from_os()?),
                NoiseSource::Keyed(noise) => Draws::Keyed(noise, noise.streams()),
            },
            quantised: QuantisedRow::default(),
            x: Zeroizing::new(vec![0; self.mechanism.k()]),
            block: self.projector.as_ref().map(block),
        })
    }
}

/// One thread's buffers and its own stream of noise.
pub struct Worker<'a> {
    releaser: &'a Releaser,
    draws: Draws<'a>,
    quantised: QuantisedRow,
    x: Zeroizing<Vec<i64>>,
    block: Option<BlockRoom>,
}

/// The noise of a worker: a stream of its own, or those of the rows.
#[allow(clippy::large_enum_variant)] // one per worker
enum Draws<'a> {
    Fresh(SecretRng),
    Keyed(&'a KeyedNoise, KeyedStreams),
}

/// Room for a block of rows.
struct BlockRoom {
    room: Room,
    sketches: Sketches,
    released: Released,
    encoding: EncoderRoom,
    values: Vec<i64>,
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker(..)")
    }
}

impl Worker<'_> {
    /// [`Releaser::release`] on this thread alone.
    pub fn release<N: AsRef<[u8]>>(
        &mut self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N,
        out: &mut Vec<u8>,
    ) -> Result<(), ReleaseError> {
        self.release_paid(rows, first_row, id, None, out)
    }

    /// [`Releaser::release_paid`] on this thread alone.
    ///
    /// # Panics
    /// If there is not one fingerprint per row.
    pub fn release_paid<N: AsRef<[u8]>>(
        &mut self,
        rows: Rows<'_>,
        first_row: u64,
        id: impl Fn(usize) -> N,
        paid: Option<&[Fingerprint]>,
        out: &mut Vec<u8>,
    ) -> Result<(), ReleaseError> {
        assert!(paid.is_none_or(|paid| paid.len() == rows.len()), "one fingerprint per row");
        out.resize(rows.len() * self.releaser.encoder.bytes_per_row(), 0);
        let result = self.release_from(rows, 0, out, first_row, &id, paid);
        if result.is_err() {
            out.clear();
        }
        result
    }

    /// Releases rows `start..` into `out`.
    fn release_from<N: AsRef<[u8]>>(
        &mut self,
        rows: Rows<'_>,
        start: usize,
        out: &mut [u8],
        first_row: u64,
        id: &impl Fn(usize) -> N,
        paid: Option<&[Fingerprint]>,
    ) -> Result<(), ReleaseError> {
        let width = self.releaser.encoder.bytes_per_row();
        for (block, out) in out.chunks_mut(LANES * width).enumerate() {
            let (start, len) = (start + block * LANES, out.len() / width);
            let takes = self.releaser.projector.as_ref().is_some_and(|projector| projector.takes(rows));
            if cfg!(feature = "blocks") && takes && len >= LEAST_BLOCK {
                self.release_block(rows.slice(start, len), start, out, first_row, id, paid)?;
            } else {
                for (i, out) in (start..).zip(out.chunks_exact_mut(width)) {
                    self.release_row(rows, i, first_row, id, paid, out)?;
                }
            }
        }
        Ok(())
    }

    /// Projects all rows at once, and also perturbs them at once where each value is perturbed by itself.
    fn release_block<N: AsRef<[u8]>>(
        &mut self,
        rows: Rows<'_>,
        start: usize,
        out: &mut [u8],
        first_row: u64,
        id: &impl Fn(usize) -> N,
        paid: Option<&[Fingerprint]>,
    ) -> Result<(), ReleaseError> {
        let Releaser { mechanism, encoder, projector, perturbation, .. } = self.releaser;
        let (Some(projector), Some(block)) = (projector, &mut self.block) else { unreachable!("blocks are there") };
        let BlockRoom { room, sketches, released, encoding, values } = block;
        let mut starts = [0; LANES];
        match &self.draws {
            Draws::Fresh(_) => projector.project(rows, first_row + start as u64, room, sketches, None)?,
            Draws::Keyed(noise, _) => {
                let mut contents = Contents::new(noise.content());
                projector.project(rows, first_row + start as u64, room, sketches, Some(&mut contents))?;
                let contents = contents.rows();
                let ids: Vec<_> = (start..start + rows.len()).map(id).collect();
                check_paid(noise, &contents, &ids, paid.map(|paid| &paid[start..]), first_row + start as u64)?;
                noise.starts(with_ids(&contents, &ids), &mut starts[..rows.len()]);
            }
        }
        if let Some(perturbation) = perturbation {
            match &mut self.draws {
                Draws::Fresh(rng) => perturbation.apply(sketches, released, rng),
                Draws::Keyed(_, streams) => {
                    streams.begin(starts[..rows.len()].iter().copied());
                    perturbation.apply(sketches, released, streams);
                }
            }
            if released.is_narrow(sketches) {
                encoder.encode_block(rows.len(), released, encoding, out);
                return Ok(());
            }
        }
        let k = mechanism.k();
        values.resize(rows.len() * k, 0);
        sketches.rows(k, values);
        if let Perturbation::Cap(Cap::Privbook(book)) = mechanism.perturbation() {
            book.apply_rows(values, |r, draw| match &mut self.draws {
                Draws::Fresh(rng) => draw(rng),
                Draws::Keyed(_, streams) => {
                    streams.begin(std::iter::once(starts[r]));
                    draw(streams.whole());
                }
            });
            let each = values.chunks_exact(k).zip(out.chunks_exact_mut(encoder.bytes_per_row()));
            each.for_each(|(x, out)| encoder.encode(x, out));
            return Ok(());
        }
        let each = values.chunks_exact_mut(k).zip(out.chunks_exact_mut(encoder.bytes_per_row()));
        for (r, (x, out)) in each.enumerate() {
            if perturbation.is_some() {
                let wide = released.wide.iter().filter(|(at, _)| at % LANES == r);
                wide.for_each(|(at, exact)| x[at / LANES] = *exact);
            } else {
                match &mut self.draws {
                    Draws::Fresh(rng) => mechanism.perturbation().apply(x, rng),
                    Draws::Keyed(noise, streams) => noise.perturb(starts[r], mechanism.perturbation(), x, streams),
                }
            }
            encoder.encode(x, out);
        }
        Ok(())
    }

    fn release_row<N: AsRef<[u8]>>(
        &mut self,
        rows: Rows<'_>,
        i: usize,
        first_row: u64,
        id: &impl Fn(usize) -> N,
        paid: Option<&[Fingerprint]>,
        out: &mut [u8],
    ) -> Result<(), ReleaseError> {
        let Self { releaser, x, .. } = self;
        let mechanism = &releaser.mechanism;
        let u = releaser.quantise(rows, i, first_row, &mut self.quantised)?;
        let fault = |kind| DataError { row: first_row + i as u64, column: None, kind };
        mechanism.project_row(u, x).map_err(fault)?;
        match &mut self.draws {
            Draws::Fresh(rng) => mechanism.perturbation().apply(x, rng),
            Draws::Keyed(noise, streams) => {
                let (content, id, mut start) = ([noise.content().row(u)], [id(i)], [0]);
                check_paid(noise, &content, &id, paid.map(|paid| &paid[i..]), first_row + i as u64)?;
                noise.starts(with_ids(&content, &id), &mut start);
                noise.perturb(start[0], mechanism.perturbation(), x, streams);
            }
        }
        releaser.encoder.encode(x, out);
        Ok(())
    }
}

/// Rows with their ids.
fn with_ids<'a, N: AsRef<[u8]>>(
    rows: &'a [Evaluations],
    ids: &'a [N],
) -> impl Iterator<Item = (Evaluations, &'a [u8])> {
    rows.iter().copied().zip(ids.iter().map(N::as_ref))
}

/// Are these the rows that were paid for? At most a block of them.
fn check_paid<N: AsRef<[u8]>>(
    noise: &KeyedNoise,
    rows: &[Evaluations],
    ids: &[N],
    paid: Option<&[Fingerprint]>,
    first_row: u64,
) -> Result<(), ReleaseError> {
    let Some(paid) = paid else { return Ok(()) };
    let mut found = [Fingerprint::default(); LANES];
    let found = &mut found[..ids.len()];
    noise.fingerprints(with_ids(rows, ids), found);
    match found.iter().zip(paid).position(|(found, paid)| found != paid) {
        Some(at) => Err(ReleaseError::Unpaid { row: first_row + at as u64 }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismId, OutputKind, Parameters, Required};
    use crate::projection::Seed;
    use crate::vectors::{Range, Scalars};

    fn releaser(id: MechanismId, symbols: Option<u8>, encoding: Option<Encoding>) -> Releaser {
        let range = Range { lo: -1.0, hi: 1.0 };
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim: 100,
            k: 40,
            epsilon: 2.0,
            beta: 1.0,
            range,
            seed: Seed([5; 32]),
        })
        .with_delta(1e-6);
        if id.notion() != crate::mechanism::NotionKind::Approximate {
            parameters.delta = None;
        }
        parameters.symbols = symbols;
        Releaser::new(Mechanism::new(parameters).unwrap(), encoding).unwrap()
    }

    /// With keyed noise all ways give the same bytes: blocks, rows, one row alone, dense and sparse, every mechanism.
    #[test]
    fn keyed_blocks_equal_rows() {
        let zero_or = |i: i32, v: f32| if i % 3 == 0 { 0.0 } else { v };
        let data: Vec<f32> = (0..100 * 77).map(|i| zero_or(i, (i * 7919 % 2001) as f32 / 1000.0 - 1.0)).collect();
        let rows = Rows::dense(Scalars::F32(&data), 100);
        let offsets: Vec<usize> = (0..=77).map(|i| data[..100 * i].iter().filter(|v| **v != 0.0).count()).collect();
        let index: Vec<u32> = (0..data.len()).filter(|&i| data[i] != 0.0).map(|i| (i % 100) as u32).collect();
        let values: Vec<f32> = data.iter().copied().filter(|v| *v != 0.0).collect();
        let sparse = Rows::sparse(&offsets, &index, Scalars::F32(&values), 100);
        let name = |i: usize| i.to_le_bytes().to_vec();
        let private = |id: &MechanismId| id.notion() != crate::mechanism::NotionKind::Individual;
        for id in MechanismId::without_files().filter(private) {
            let encoding = (id == MechanismId::DpOporpStaircase).then_some(Encoding::I16);
            let symbols = (id.output() == OutputKind::Symbols).then_some(3);
            let make = || releaser(id, symbols, encoding);
            let keyed = |releaser: Releaser| releaser.keyed(NoiseKey::from_bytes([7; 32]));
            let release = |releaser: &Releaser, rows: Rows<'_>, first: usize| {
                let mut out = Vec::new();
                releaser.release(rows, 9, |i| name(first + i), &mut out).unwrap();
                out
            };
            let blocks = keyed(make());
            let wanted = release(&keyed(make().row_by_row()), rows, 0);
            assert!(release(&blocks, rows, 0) == wanted, "{id}");
            assert!(release(&blocks, sparse, 0) == wanted, "{id}");
            let width = blocks.encoder().bytes_per_row();
            for (first, len) in [(0, 1), (3, 5), (40, 31)] {
                let some = release(&blocks, rows.slice(first, len), first);
                assert!(some == wanted[first * width..][..len * width], "{id} {first}");
            }
            let prints = |rows: Rows<'_>| blocks.fingerprints(rows, 0, name).unwrap();
            assert!(prints(rows) == prints(sparse) && prints(rows)[0] != prints(rows)[1]);
        }
    }

    /// Sums of sparse rows are 16 bits wide where they fit, though their bound does not. At the ends of 16 bits, blocks
    /// still do what rows do: here -32768 once was taken for the greatest value, so that one step of an attribute turned a
    /// bit from certain 0 to certain 1.
    #[test]
    fn sums_at_the_ends_of_16_bits_are_flipped_as_in_rows() {
        for (beta, epsilon) in [(2048, 0.7), (4096, 1.5), (8192, 3.0), (16_384, 6.0)] {
            let (dim, k, range) = (4096, 4, Range { lo: 0.0, hi: f64::from(beta) });
            let required = Required {
                mechanism: MechanismId::DpSignoporpCeil,
                dim,
                k,
                epsilon,
                beta: range.hi,
                range,
                seed: Seed([5; 32]),
            };
            let parameters = Parameters { grid_exponent: Some(0), ..Parameters::new(required) };
            let make = || Releaser::new(Mechanism::new(parameters.clone()).unwrap(), None).unwrap();
            let blocks = make().keyed(NoiseKey::from_bytes([7; 32]));
            let plain = make().row_by_row().keyed(NoiseKey::from_bytes([7; 32]));
            blocks.mechanism().projection().prepare();
            // Attributes that enter the first bin, with either sign: so many at the end of the range, and one near it.
            let mut weights = vec![0; k];
            let mut of_sign = |sign: i32| -> Vec<u32> {
                let wanted = |&at: &u32| {
                    blocks.mechanism().projection().weights(at as usize, &mut weights);
                    weights[0] == sign
                };
                (0..dim as u32).filter(wanted).take(32_768 / beta as usize).collect()
            };
            let signs = [of_sign(-1), of_sign(1)];
            let (mut offsets, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in 0..64 {
                let attributes = &signs[row % 2];
                index.extend(attributes);
                let least = range.hi - (row / 2 % 3 + row % 2) as f64; // -32768, -32767, -32766, and 32767 to 32765
                values.extend((0..attributes.len()).map(|at| if at == 0 { least as f32 } else { range.hi as f32 }));
                offsets.push(index.len());
            }
            let rows = Rows::sparse(&offsets, &index, Scalars::F32(&values), dim);
            let release = |releaser: &Releaser| {
                let mut out = Vec::new();
                releaser.release(rows, 0, |i: usize| i.to_le_bytes().to_vec(), &mut out).unwrap();
                out
            };
            assert!(release(&blocks) == release(&plain), "{beta}");
        }
    }

    /// A row that changes after it was charged is not released, whichever way it goes.
    #[test]
    fn a_row_that_was_not_paid_for_is_refused() {
        let mut data = vec![0.25f32; 100 * 40];
        let name = |i: usize| i.to_le_bytes().to_vec();
        for make in [|releaser: Releaser| releaser, Releaser::row_by_row] {
            let releaser =
                make(releaser(MechanismId::DpOporpStaircase, None, None)).keyed(NoiseKey::from_bytes([7; 32]));
            let paid = releaser.fingerprints(Rows::dense(Scalars::F32(&data), 100), 0, name).unwrap();
            let release = |data: &[f32]| {
                let mut out = vec![0; 40 * releaser.encoder().bytes_per_row()];
                releaser
                    .release_paid(Rows::dense(Scalars::F32(data), 100), 5, name, Some(&paid), &mut out)
                    .map(|()| out)
            };
            assert!(release(&data).is_ok());
            for row in [0, 31, 39] {
                data[100 * row + 7] = -0.5;
                assert_eq!(release(&data), Err(ReleaseError::Unpaid { row: 5 + row as u64 }));
                data[100 * row + 7] = 0.25;
            }
        }
    }

    /// Fresh noise in blocks has the law of fresh noise in rows: released means agree within 7 standard errors (alpha < 1e-9).
    #[test]
    fn fresh_blocks_follow_the_rows() {
        let data: Vec<f32> = [0.5f32, -0.25, 0.0, 1.0].repeat(25).repeat(4000);
        let rows = Rows::dense(Scalars::F32(&data), 100);
        for (mechanism, symbols) in [
            (MechanismId::DpSignoporpCeil, None),
            (MechanismId::DpSignoporpRrSmooth, None),
            (MechanismId::DpOporpStaircase, None),
            (MechanismId::DpOporp, None),
            (MechanismId::DpOporpLattice, Some(3)),
            (MechanismId::DpOporpZones, Some(5)),
        ] {
            let moments = |releaser: Releaser| {
                let (mut bytes, k) = (Vec::new(), releaser.mechanism().k());
                releaser.release(rows, 0, |_| Vec::new(), &mut bytes).unwrap();
                let (mut sums, mut values) = (vec![(0.0, 0.0); k], vec![0.0; k]);
                for row in bytes.chunks_exact(releaser.encoder().bytes_per_row()) {
                    releaser.encoder().decode(row, &mut values);
                    sums.iter_mut().zip(&values).for_each(|(sum, &v)| {
                        sum.0 += f64::from(v);
                        sum.1 += f64::from(v * v);
                    });
                }
                sums
            };
            let blocks = releaser(mechanism, symbols, None);
            assert!(blocks.perturbation.is_some(), "{mechanism}");
            let (a, b) = (moments(blocks), moments(releaser(mechanism, symbols, None).row_by_row()));
            for (a, b) in a.iter().zip(&b) {
                let n = rows.len() as f64;
                let variance = |sums: &(f64, f64)| (sums.1 / n - (sums.0 / n).powi(2)).max(10.0 / n);
                let error = ((variance(a) + variance(b)) / n).sqrt();
                assert!((a.0 - b.0).abs() / n < 7.0 * error, "{mechanism}: {} {}", a.0 / n, b.0 / n);
            }
        }
    }
}
