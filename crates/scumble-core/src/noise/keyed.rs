//! Noise that is a function of a secret key, an id and the row on the grid; the same with one row or with 32 side by side.
//!
//! Row and id become four evaluations ([`ContentHash`]), 124 bits. AES-128 under a first derived key turns them into
//! the counter S at which the row's stream begins; block i of the stream is AES-128 of S + i under a second one.
//! Output j takes its first bits (2 or 4 bytes) from byte 2j or 4j of the stream on. What these leave open is decided
//! by the bits from block S + 2^64 + 2^32 j on: each output has its own, whatever happens to the others. Mechanisms
//! that look at whole rows read the stream from its beginning.
//!
//! With n rows of 2^5 blocks the streams overlap, or rows share their evaluations, with a chance below n^2 2^-119.

use super::cipher::Cipher;
use super::kernels::LANES;
use super::rng::{NoiseKey, SecretRng};
use super::source::{LaneSource, Source};
use crate::projection::kernels::{transpose_i32, transpose_u8};
use crate::simd;
use crate::vectors::Grid;
use crate::vectors::content::{ContentHash, Evaluations};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroize;

/// Bytes of every row's stream made at a time.
const STEP: usize = 512;

/// What the pseudo-random function is used for.
#[derive(Clone, Copy)]
enum Purpose {
    Stream = 0,
    Content = 1,
    Row = 2,
}

/// A secret key bound to a mechanism. Its `Debug` output shows nothing of it.
pub(crate) struct Keyed {
    key: NoiseKey,
    mechanism: Vec<u8>,
    content: ContentHash,
    seed: Cipher,
    stream: Arc<Cipher>,
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(..)")
    }
}

impl Keyed {
    /// For rows of `dim` attributes on a grid; `mechanism` names everything that decides what happens to them.
    pub(crate) fn new(key: NoiseKey, mechanism: Vec<u8>, grid: &Grid, dim: usize) -> Self {
        let secret = |label: &str, out: &mut [u8]| key.expand(&[b"noise", &mechanism, label.as_bytes()], out);
        let cipher = |label: &str| {
            let mut bytes = zeroize::Zeroizing::new([0; 16]);
            secret(label, bytes.as_mut());
            Cipher::new(&bytes)
        };
        let (content, seed, stream) = (ContentHash::new(grid, dim, secret), cipher("seed"), cipher("stream"));
        Self { seed, stream: Arc::new(stream), content, key, mechanism }
    }

    /// The hash of rows.
    pub(crate) fn content(&self) -> &ContentHash {
        &self.content
    }

    /// Another function of the key and the mechanism.
    pub(crate) fn hash(&self, label: &[u8], context: &[u8]) -> [u8; 32] {
        self.key.hash(&[label, &self.mechanism, context])
    }

    /// Another key, which does not depend on the mechanism.
    pub(crate) fn derived(&self, purpose: &[u8]) -> NoiseKey {
        NoiseKey::from_bytes(self.key.hash(&[purpose]))
    }

    /// What the pseudo-random function is applied to.
    fn input(&self, purpose: Purpose, row: Evaluations, id: &[u8]) -> u128 {
        let all = self.content.with_id(row, id, |id| self.hash(b"id", id));
        all.iter().rev().fold(purpose as u128, |bits, &h| bits << 31 | u128::from(h))
    }

    /// Where the streams of rows begin: a number for each row with its id.
    pub(crate) fn starts<'i>(&self, rows: impl Iterator<Item = (Evaluations, &'i [u8])>, starts: &mut [u128]) {
        starts.iter_mut().zip(rows).for_each(|(to, (row, id))| *to = self.input(Purpose::Stream, row, id));
        self.seed.encrypt(starts);
    }

    /// What a ledger may know about ids, and about rows bound to them: two numbers for each row with its id.
    pub(crate) fn fingerprints<'i>(
        &self,
        rows: impl Iterator<Item = (Evaluations, &'i [u8])>,
        prints: &mut [[u128; 2]],
    ) {
        for (to, (row, id)) in prints.iter_mut().zip(rows) {
            *to = [self.input(Purpose::Row, [0; 4], id), self.input(Purpose::Content, row, id)];
        }
        self.seed.encrypt(prints.as_flattened_mut());
    }

    /// Room for streams of rows with `k` outputs.
    pub(crate) fn streams(&self, k: usize) -> KeyedStreams {
        KeyedStreams {
            rng: SecretRng::of(self.stream.clone()),
            cipher: self.stream.clone(),
            starts: [0; LANES],
            rows: 0,
            k,
            at: 0,
            bytes: vec![0x55; LANES * STEP], // a lane without a row draws what is there
            lanes: vec![0; LANES * STEP],
            words: [vec![0; LANES * STEP / 4], vec![0; LANES * STEP / 4]],
            unused: 0..0,
        }
    }
}

/// The streams of up to [`LANES`] rows, side by side. Wiped when dropped.
pub(crate) struct KeyedStreams {
    rng: SecretRng,
    cipher: Arc<Cipher>,
    starts: [u128; LANES],
    rows: usize,
    k: usize,
    at: usize, // bytes of every row's stream that were made
    bytes: Vec<u8>,
    lanes: Vec<u8>,
    words: [Vec<i32>; 2],
    unused: std::ops::Range<usize>, // of lanes
}

impl Drop for KeyedStreams {
    fn drop(&mut self) {
        self.bytes.zeroize();
        self.lanes.zeroize();
        self.words.zeroize();
    }
}

impl KeyedStreams {
    /// Begins a row's stream at each of these counters.
    pub(crate) fn begin(&mut self, starts: impl Iterator<Item = u128>) {
        (self.rows, self.at, self.unused) = (0, 0, 0..0);
        for (to, start) in self.starts.iter_mut().zip(starts) {
            *to = start;
            self.rows += 1;
        }
    }

    /// The first row's stream from its beginning.
    pub(crate) fn whole(&mut self) -> &mut SecretRng {
        self.rng.seek(self.starts[0]);
        &mut self.rng
    }

    /// The first row alone.
    pub(crate) fn one_row(&mut self) -> OneRow<'_> {
        self.bytes.resize(self.bytes.len().max(4 * self.k), 0);
        OneRow(self)
    }

    /// More bits of output j of a row.
    fn more_of(&mut self, lane: usize, output: usize) -> &mut SecretRng {
        self.rng.seek(self.starts[lane].wrapping_add(1 << 64 | (output as u128) << 32));
        &mut self.rng
    }

    /// This many bytes of lanes, `each` of them per output: bytes or little-endian words side by side.
    fn take(&mut self, bytes: usize, each: usize) -> &[u8] {
        if self.unused.len() < bytes {
            debug_assert!(self.unused.is_empty(), "pieces divide a step");
            let left = (each * self.k - self.at).min(STEP).next_multiple_of(16);
            for (start, out) in self.starts[..self.rows].iter().zip(self.bytes.chunks_exact_mut(STEP)) {
                self.cipher.fill(start.wrapping_add((self.at / 16) as u128), &mut out[..left]);
            }
            self.at += left;
            let Self { bytes, lanes, words: [from, to], .. } = self;
            if each == 2 {
                transpose_u8(simd::level(), bytes, STEP, LANES, left, lanes);
            } else {
                from.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = i32::from_le_bytes(*bytes));
                transpose_i32(simd::level(), from, STEP / 4, LANES, left / 4, to);
                lanes.as_chunks_mut().0.iter_mut().zip(to).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
            }
            self.unused = 0..LANES * left;
        }
        self.unused.start += bytes;
        &self.lanes[self.unused.start - bytes..self.unused.start]
    }
}

impl Source for KeyedStreams {
    fn words(&mut self, values: usize) -> &[u8] {
        self.take(4 * values, 4)
    }

    fn more(&mut self, at: usize) -> &mut SecretRng {
        self.more_of(at % LANES, at / LANES)
    }
}

impl LaneSource for KeyedStreams {
    fn coins(&mut self, outputs: usize) -> &[u8] {
        self.take(2 * LANES * outputs, 2)
    }
}

/// The stream of one row, for samplers that go row by row: the same bits for the same outputs.
pub(crate) struct OneRow<'a>(&'a mut KeyedStreams);

impl OneRow<'_> {
    /// The first 16 bits of every output.
    pub(crate) fn coins(&mut self) -> Vec<u16> {
        let KeyedStreams { cipher, starts, bytes, k, .. } = &mut *self.0;
        cipher.fill(starts[0], &mut bytes[..2 * *k]);
        bytes.as_chunks().0[..*k].iter().map(|pair| u16::from_be_bytes(*pair)).collect()
    }
}

impl Source for OneRow<'_> {
    fn words(&mut self, values: usize) -> &[u8] {
        let KeyedStreams { cipher, starts, bytes, at, .. } = &mut *self.0;
        cipher.fill(starts[0].wrapping_add((*at / 16) as u128), &mut bytes[..4 * values]);
        *at += 4 * values; // whole blocks, except the last time
        &bytes[..4 * values]
    }

    fn more(&mut self, at: usize) -> &mut SecretRng {
        self.0.more_of(0, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::noise::{BlockFlips, BlockSymbols, FlipTable, Laplace, Noise, SymbolTable};
    use crate::vectors::{PrivateRow, Range};
    use serde_json::Value;

    fn bytes<const N: usize>(hex: &Value) -> [u8; N] {
        let digits = hex.as_str().unwrap();
        std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
    }

    fn numbers<T: std::str::FromStr>(list: &Value) -> Vec<T> {
        let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        list.as_array().unwrap().iter().map(|v| text(v).parse().ok().expect("a number")).collect()
    }

    /// The streams of one row in the given lane, among other rows.
    fn beside_others(keyed: &Keyed, start: u128, lane: usize, k: usize) -> KeyedStreams {
        let mut streams = keyed.streams(k);
        streams.begin((0..LANES as u128).map(|i| if i == lane as u128 { start } else { i << 90 | 5 }));
        streams
    }

    /// Against `reference/keyed.py`: hash, stream and draws, alone and side by side.
    #[test]
    fn noise_is_that_of_the_reference() {
        let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/v1/keyed.json"));
        let file: Value = serde_json::from_str(file).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let end = |name: &str| f64::from(i32::try_from(case[name].as_i64().unwrap()).unwrap());
            let grid = Grid::new(Range::new(end("lo"), end("hi")).unwrap(), 0).unwrap();
            let dim = case["dim"].as_u64().unwrap() as usize;
            let keyed = Keyed::new(
                NoiseKey::from_bytes(bytes(&case["key"])),
                bytes::<32>(&case["mechanism"]).to_vec(),
                &grid,
                dim,
            );
            let (index, value): (Vec<u32>, Vec<i32>) = (numbers(&case["index"]), numbers(&case["values"]));
            let id = case["id"].as_str().unwrap();
            let id: Vec<u8> =
                (0..id.len() / 2).map(|i| u8::from_str_radix(&id[2 * i..2 * i + 2], 16).unwrap()).collect();
            let row = keyed.content().row(PrivateRow::Sparse { dim, index: &index, value: &value });
            let all = keyed.content().with_id(row, &id, |id| keyed.hash(b"id", id));
            assert_eq!(all.to_vec(), numbers::<u32>(&case["evaluations"]));
            let fingerprint = case["fingerprint"].as_array().unwrap();
            let (mut prints, mut starts) = ([[0; 2]; 3], [0; 3]);
            keyed.fingerprints([([1; 4], &b"other"[..]), (row, &id), (row, b"")].into_iter(), &mut prints);
            let expected: Vec<[u8; 16]> = fingerprint.iter().map(bytes).collect();
            assert_eq!(prints[1].map(u128::to_le_bytes).to_vec(), expected);
            keyed.starts([([1; 4], &b"other"[..]), (row, &id), (row, b"")].into_iter(), &mut starts);
            let start = starts[1];
            assert_eq!(format!("{start:032x}"), case["start"]);
            draws(case, &keyed, start);
        }
    }

    fn draws(case: &Value, keyed: &Keyed, start: u128) {
        let thresholds: Vec<u64> = numbers(&case["thresholds"]);
        let (k, lane) = (thresholds.len(), 19);
        let table = FlipTable::from_thresholds(thresholds).unwrap();
        let wanted: Vec<u8> = numbers(&case["flips"]);
        let mut streams = keyed.streams(k);
        streams.begin([start].into_iter());
        let mut one = streams.one_row();
        let flips = |(j, first): (usize, u16)| u8::from(table.decide(j as u64, first, || one.more(j).next_u64()));
        let coins = keyed_coins(keyed, start, k);
        assert_eq!(coins.into_iter().enumerate().map(flips).collect::<Vec<_>>(), wanted);
        // All values are minus, of level |x|.
        let flips = BlockFlips::new(&table, k as i64, |x| (false, x.unsigned_abs())).unwrap();
        let x: Vec<i16> = (0..k * LANES).map(|i| -((i / LANES) as i16)).collect();
        let mut bits = vec![0; k.div_ceil(8) * LANES];
        flips.draw(&x, &mut bits, &mut beside_others(keyed, start, lane, k));
        let bit = |j: usize| bits[j / 8 * LANES + lane] >> (7 - j % 8) & 1;
        assert_eq!((0..k).map(bit).collect::<Vec<_>>(), wanted);

        for symbols in case["symbols"].as_array().unwrap() {
            let rows = symbols["rows"].as_array().unwrap().iter().map(numbers).collect();
            let table = SymbolTable::new(symbols["bits"].as_u64().unwrap() as u32, rows, 0, &rational(1.0)).unwrap();
            let block = BlockSymbols::new(&table, k as i64 - 1, |x| x.unsigned_abs() as usize);
            let x: Vec<i32> = (0..k * LANES).map(|i| (i / LANES) as i32).collect();
            let mut out = vec![0; k * LANES];
            block.draw(&x, &mut out, &mut beside_others(keyed, start, lane, k));
            let found: Vec<u8> = (0..k).map(|j| out[j * LANES + lane]).collect();
            assert_eq!(found, numbers::<u8>(&symbols["drawn"]));
        }

        let wanted: Vec<i16> = numbers(&case["laplace"]["drawn"]);
        let ratio = case["laplace"]["ratio"].as_str().unwrap().parse().unwrap();
        let law = Noise::from(Laplace::from_ratio(ratio).unwrap()).blocks().unwrap();
        let (mut out, mut wide) = (vec![0; k], Vec::new());
        let mut streams = keyed.streams(k);
        streams.begin([start].into_iter());
        law.fill(&mut out, &mut wide, &mut streams.one_row());
        assert_eq!((out, wide.len()), (wanted.clone(), 0));
        let mut out = vec![0; k * LANES];
        law.fill(&mut out, &mut wide, &mut beside_others(keyed, start, lane, k));
        assert_eq!((0..k).map(|j| out[j * LANES + lane]).collect::<Vec<_>>(), wanted);
    }

    fn keyed_coins(keyed: &Keyed, start: u128, k: usize) -> Vec<u16> {
        let mut streams = keyed.streams(k);
        streams.begin([start].into_iter());
        streams.one_row().coins()
    }
}
