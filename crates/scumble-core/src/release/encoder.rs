//! From released integers to bytes and back. Everything here is post-processing: it reads no private data and costs no
//! privacy.

use super::Encoding;
use crate::error::{EncodingError, ParameterError};
use crate::mechanism::{Mechanism, OutputKind, Released};
use crate::projection::{LANES, PublicTable, kernels};
use crate::simd;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How to read the bytes of a row without this library. Part of the certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncodingStatement {
    /// `f32`, `i16`, `b8`, `b4`, `b1`, `s3`, `s4`, `s5` or `s16`.
    pub name: String,
    /// Bytes per row.
    pub bytes_per_row: usize,
    /// Value of one step of the code: value = (code + offset) * step. For `f32` the number is the value itself.
    pub step: f64,
    /// See `step`.
    pub offset: f64,
    /// Released integers per step of the code.
    pub divisor: u64,
    /// The value of each symbol, where there are symbols: then `step` and `offset` do not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// What was subtracted from each coordinate before it was perturbed. Add it to every value except those of `f32`,
    /// which already include it; for a bit it is the threshold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub centres: Vec<f64>,
}

/// Encodes released integers, with every number fixed by public parameters.
#[derive(Debug, Clone)]
pub struct Encoder {
    encoding: Encoding,
    k: usize,
    divisor: i64,
    first: i64, // the least code of 16, in steps
    unit: f64,
    values: Vec<f64>,
    centres: Vec<f64>,
    book: Option<Arc<PublicTable>>,
}

/// Room for a block on its way to bytes.
#[derive(Default)]
pub(crate) struct EncoderRoom {
    tile: Vec<i16>,
    packed: Vec<u8>,
}

/// Standard deviations per step of a code of 16 levels: the least squared error for a normal value (Lloyd, Max).
const STEP_16: f64 = 0.335;
/// Likewise for 256 levels.
const STEP_256: f64 = 0.031;

impl Encoder {
    /// The encoder of a mechanism; `None` takes the mechanism's own encoding (values: f32, bits: b1, symbols: packed).
    pub fn new(mechanism: &Mechanism, encoding: Option<Encoding>) -> Result<Self, ParameterError> {
        let encoding = encoding.unwrap_or_else(|| natural(mechanism));
        let fits = match mechanism.id().output() {
            OutputKind::Values => match encoding {
                Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::B4 | Encoding::B1 => true,
                Encoding::Symbols { .. } | Encoding::Word { .. } => false,
            },
            OutputKind::Bits => encoding == Encoding::B1,
            OutputKind::Symbols | OutputKind::Words => encoding == natural(mechanism),
        };
        if !fits {
            let (encoding, natural) = (encoding.to_string(), natural(mechanism).to_string());
            return Err(EncodingError::Unfit { mechanism: mechanism.id().as_str(), encoding, natural }.into());
        }
        let unit = mechanism.value_unit();
        let spread = mechanism.typical_spread() / unit; // in released integers
        let ends = if encoding == Encoding::B4 { one_sided(mechanism) } else { None };
        let divisor = match encoding {
            // i16 keeps the integers themselves whenever they fit, bound and eight deviations of noise together.
            Encoding::I16 => ((mechanism.largest_value() / unit + 8.0 * spread) / 32767.0).ceil(),
            Encoding::B8 => spread * STEP_256,
            Encoding::B4 => ends.map_or(f64::INFINITY, |[lo, hi]| (hi - lo) / 16.0).min(spread * STEP_16),
            Encoding::F32 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => 1.0,
        };
        let divisor = (divisor.round() as i64).max(1);
        Ok(Self {
            encoding,
            k: mechanism.k(),
            divisor,
            first: ends.map_or(-8, |[lo, _]| (lo / divisor as f64).round() as i64),
            unit,
            values: mechanism.symbol_values(),
            centres: mechanism.centres(),
            book: mechanism.parameters().book.as_ref().and_then(|file| file.content().cloned()),
        })
    }

    /// Bits or symbols of k coordinates: codes without values.
    pub(super) fn packed(encoding: Encoding, k: usize) -> Self {
        let (values, centres) = (Vec::new(), Vec::new());
        Self { encoding, k, divisor: 1, first: 0, unit: 1.0, values, centres, book: None }
    }

    /// The layout.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Bytes per row.
    pub fn bytes_per_row(&self) -> usize {
        self.encoding.bytes_per_row(self.k)
    }

    /// Variance that the rounding to codes adds to a value.
    pub fn rounding_variance(&self) -> f64 {
        let step = self.divisor as f64 * self.unit;
        match self.encoding {
            Encoding::I16 | Encoding::B8 | Encoding::B4 if self.divisor > 1 => step * step / 12.0,
            Encoding::F32
            | Encoding::I16
            | Encoding::B8
            | Encoding::B4
            | Encoding::B1
            | Encoding::Symbols { .. }
            | Encoding::Word { .. } => 0.0,
        }
    }

    /// The least and the greatest code, where values beyond them are cut off.
    pub fn code_range(&self) -> Option<(i32, i32)> {
        match self.encoding {
            Encoding::I16 => Some((-32768, 32767)),
            Encoding::B8 => Some((-128, 127)),
            Encoding::B4 => Some((0, 15)),
            Encoding::F32 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => None,
        }
    }

    /// No decoded value is larger in absolute value; infinite for floats, which hold any number.
    pub fn largest_value(&self) -> f64 {
        let most = |values: &[f64]| values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let code = match self.encoding {
            Encoding::F32 => f64::INFINITY,
            Encoding::B1 => 1.0,
            Encoding::Symbols { .. } => most(&self.values),
            Encoding::Word { .. } => self.book.as_ref().map_or(0.0, |book| 32768.0 * book.scale()),
            Encoding::I16 | Encoding::B8 | Encoding::B4 => {
                let (low, high) = self.code_range().expect("codes of values");
                f64::from(self.code_value(low).abs().max(self.code_value(high).abs()))
            }
        };
        code + most(self.centres())
    }

    /// What the certificate says about it.
    pub fn statement(&self) -> EncodingStatement {
        EncodingStatement {
            name: self.encoding.to_string(),
            bytes_per_row: self.bytes_per_row(),
            step: self.divisor as f64 * self.unit,
            offset: self.offset(),
            divisor: self.divisor as u64,
            values: self.values.clone(),
            centres: self.centres.clone(),
        }
    }

    /// What must be added to each coordinate's value.
    pub fn centres(&self) -> &[f64] {
        if self.encoding == Encoding::B1 { &[] } else { &self.centres }
    }

    fn offset(&self) -> f64 {
        if self.encoding == Encoding::B4 { self.first as f64 + 0.5 } else { 0.0 }
    }

    /// Encodes one row of released integers.
    pub fn encode(&self, row: &[i64], out: &mut [u8]) {
        debug_assert_eq!((row.len(), out.len()), (self.k, self.bytes_per_row()));
        match self.encoding {
            Encoding::F32 => {
                let centres = self.centres.iter().copied().chain(std::iter::repeat(0.0));
                for ((bytes, &x), centre) in out.chunks_exact_mut(4).zip(row).zip(centres) {
                    bytes.copy_from_slice(&((x as f64 * self.unit + centre) as f32).to_le_bytes());
                }
            }
            Encoding::I16 => {
                for (bytes, &x) in out.chunks_exact_mut(2).zip(row) {
                    bytes.copy_from_slice(&(self.nearest(x).clamp(-32768, 32767) as i16).to_le_bytes());
                }
            }
            Encoding::B8 => {
                for (byte, &x) in out.iter_mut().zip(row) {
                    *byte = self.nearest(x).clamp(-128, 127) as i8 as u8;
                }
            }
            Encoding::B4 => {
                self.pack(row, out, 2, |x| (x.div_euclid(self.divisor) - self.first).clamp(0, 15) as u8, 16)
            }
            Encoding::B1 => self.pack(row, out, 8, |x| u8::from(x > 0), 2),
            Encoding::Word { bytes } => out.copy_from_slice(&row[0].to_le_bytes()[..usize::from(bytes)]),
            Encoding::Symbols { count } => {
                let (per_byte, base) = self.encoding.packing();
                self.pack(row, out, per_byte, |x| (x as u64).min(u64::from(count) - 1) as u8, base);
            }
        }
    }

    /// Encodes a block of up to [`LANES`] rows of released values, bits or symbols, lane by lane.
    pub(crate) fn encode_block(&self, rows: usize, released: &Released, room: &mut EncoderRoom, out: &mut [u8]) {
        let EncoderRoom { tile, packed } = room;
        let (level, width) = (simd::level(), self.bytes_per_row());
        match self.encoding {
            Encoding::B1 if !released.codes.is_empty() => {
                kernels::untranspose_u8(level, &released.codes, rows, width, out);
            }
            Encoding::Symbols { .. } => {
                let (per_byte, base) = self.encoding.packing();
                packed.resize(width * LANES, 0);
                kernels::pack(level, &released.codes, per_byte, base as u8, packed); // base 256 has one digit
                kernels::untranspose_u8(level, packed, rows, width, out);
            }
            Encoding::Word { .. } => unreachable!("words are drawn by whole rows"),
            // Values, also where only their signs are kept.
            Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::B4 | Encoding::B1 => {
                tile.resize(self.k * LANES, 0);
                kernels::untranspose_i16(level, &released.values, rows, self.k, tile);
                for (row, out) in tile.chunks_exact(self.k).zip(out.chunks_exact_mut(width)) {
                    self.encode_narrow(row, out);
                }
                if released.wide.is_empty() {
                    return;
                }
                let mut whole = vec![0; self.k];
                for &(at, _) in released.wide.iter().filter(|(at, _)| at % LANES < rows) {
                    // A value that 16 bits do not hold: its row again, from the exact values.
                    let lane = at % LANES;
                    for (j, x) in whole.iter_mut().enumerate() {
                        *x = released.values[j * LANES + lane].into();
                    }
                    for (at, exact) in released.wide.iter().filter(|(at, _)| at % LANES == lane) {
                        whole[at / LANES] = *exact;
                    }
                    self.encode(&whole, &mut out[lane * width..][..width]);
                }
            }
        }
    }

    /// Encodes one row of values that 16 bits hold.
    fn encode_narrow(&self, row: &[i16], out: &mut [u8]) {
        let exact = self.unit as f32; // a power of two in range: then the product needs no rounding
        let is_exact =
            f64::from(exact) == self.unit && libm::frexp(self.unit).0 == 0.5 && (1e-30..1e30).contains(&exact);
        match self.encoding {
            Encoding::F32 if is_exact && self.centres.is_empty() => {
                for (bytes, &x) in out.as_chunks_mut().0.iter_mut().zip(row) {
                    *bytes = (f32::from(x) * exact).to_le_bytes();
                }
            }
            Encoding::I16 if self.divisor == 1 => {
                for (bytes, &x) in out.as_chunks_mut().0.iter_mut().zip(row) {
                    *bytes = x.to_le_bytes();
                }
            }
            Encoding::F32
            | Encoding::I16
            | Encoding::B8
            | Encoding::B4
            | Encoding::B1
            | Encoding::Symbols { .. }
            | Encoding::Word { .. } => {
                let wide: Vec<i64> = row.iter().map(|&x| x.into()).collect();
                self.encode(&wide, out);
            }
        }
    }

    /// Packs codes base `base`, the first of a byte most significant; a short last byte is filled with zeros.
    fn pack(&self, row: &[i64], out: &mut [u8], per_byte: usize, code: impl Fn(i64) -> u8, base: u16) {
        for (byte, chunk) in out.iter_mut().zip(row.chunks(per_byte)) {
            let packed =
                (0..per_byte).fold(0u16, |packed, at| packed * base + chunk.get(at).map_or(0, |&x| code(x).into()));
            *byte = packed as u8;
        }
    }

    /// `floor(x/divisor + 1/2)`.
    fn nearest(&self, x: i64) -> i64 {
        if self.divisor == 1 { x } else { x.saturating_add(self.divisor / 2).div_euclid(self.divisor) }
    }

    /// The codes of a row: integers, bits as 0 and 1, symbols. (For `f32` use [`Encoder::decode`].)
    pub fn codes(&self, bytes: &[u8], out: &mut [i32]) {
        match self.encoding {
            Encoding::F32 => unreachable!("f32 values have no codes"),
            Encoding::Word { .. } => {
                out.fill(0);
                out[0] = self.word(bytes) as i32;
            }
            Encoding::I16 => {
                for (code, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
                    *code = i16::from_le_bytes([pair[0], pair[1]]).into();
                }
            }
            Encoding::B8 => out.iter_mut().zip(bytes).for_each(|(code, &byte)| *code = (byte as i8).into()),
            Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } => {
                let (per_byte, base) = self.encoding.packing();
                for (codes, &byte) in out.chunks_mut(per_byte).zip(bytes) {
                    let mut rest = u16::from(byte);
                    let mut digits = [0i32; 8];
                    for digit in digits[..per_byte].iter_mut().rev() {
                        *digit = (rest % base).into();
                        rest /= base;
                    }
                    codes.copy_from_slice(&digits[..codes.len()]);
                }
            }
        }
    }

    /// Could an encoder have written this row? A row from outside may have codes beyond the last, digits after the last
    /// coordinate, or numbers that are not finite.
    pub fn accepts(&self, row: &[u8]) -> bool {
        let finite = |four: &[u8]| f32::from_le_bytes(four.try_into().expect("four bytes")).is_finite();
        if row.len() != self.bytes_per_row() {
            return false;
        }
        match self.encoding {
            Encoding::I16 | Encoding::B8 => true,
            Encoding::F32 => row.chunks_exact(4).all(finite),
            Encoding::Word { .. } => self.book.as_ref().is_some_and(|book| self.word(row) < book.shape().0),
            Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } => {
                let per_byte = self.encoding.packing().0;
                let last = self.k - (row.len() - 1) * per_byte; // codes in the last byte
                row.split_last().is_none_or(|(end, whole)| {
                    whole.iter().all(|&byte| self.holds(byte, per_byte)) && self.holds(*end, last)
                })
            }
        }
    }

    /// Does a byte hold this many codes, and zeros after them?
    fn holds(&self, byte: u8, codes: usize) -> bool {
        let (per_byte, base) = self.encoding.packing();
        let count = self.codes_count();
        if codes == per_byte && count == usize::from(base) {
            return usize::from(byte) < count.pow(per_byte as u32);
        }
        let mut rest = u16::from(byte);
        for at in (0..per_byte).rev() {
            if usize::from(rest % base) >= if at < codes { count } else { 1 } {
                return false;
            }
            rest /= base;
        }
        rest == 0
    }

    /// For words: the number of the word that this row is.
    pub fn word(&self, bytes: &[u8]) -> usize {
        bytes.iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte))
    }

    /// The public book that the words come from.
    pub fn book(&self) -> Option<&Arc<PublicTable>> {
        self.book.as_ref()
    }

    /// For packed codes: codes per byte, and the value of each of its digits in each of a byte's 256 states.
    pub fn byte_values(&self) -> Option<(usize, Vec<f32>)> {
        match self.encoding {
            Encoding::B1 | Encoding::B4 | Encoding::Symbols { .. } => {}
            Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::Word { .. } => return None,
        }
        let (per_byte, base) = self.encoding.packing();
        let top = (1..per_byte).fold(1u16, |power, _| power * base);
        let digit = |state: u16, at: u32| state / (top / base.pow(at)) % base;
        // A byte can hold digits that are no code (the fifth nibble symbol of five): no encoder writes them.
        let value = |code: u16| if usize::from(code) < self.codes_count() { self.code_value(code.into()) } else { 0.0 };
        let states = (0..256u16).flat_map(|state| (0..per_byte as u32).map(move |at| digit(state, at)));
        Some((per_byte, states.map(value).collect()))
    }

    /// How many codes there are, for packed codes.
    fn codes_count(&self) -> usize {
        match self.encoding {
            Encoding::Symbols { .. } => self.values.len(),
            Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::B4 | Encoding::B1 | Encoding::Word { .. } => {
                self.encoding.packing().1.into()
            }
        }
    }

    /// The real value of a code.
    fn code_value(&self, code: i32) -> f32 {
        match self.encoding {
            Encoding::Symbols { .. } => self.values[code as usize] as f32,
            Encoding::B1 => (2 * code - 1) as f32,
            Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::B4 | Encoding::Word { .. } => {
                ((f64::from(code) + self.offset()) * self.divisor as f64 * self.unit) as f32
            }
        }
    }

    /// The real values of a row: bits as -1 and 1, symbols by their table.
    pub fn decode(&self, bytes: &[u8], out: &mut [f32]) {
        if self.encoding == Encoding::F32 {
            for (value, four) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *value = f32::from_le_bytes(four.try_into().expect("four bytes"));
            }
            return;
        }
        if let Some(book) = &self.book {
            // A number that is not a word decodes as the last: no encoder writes it.
            let word = self.word(bytes).min(book.shape().0 - 1);
            let scale = book.scale();
            out.iter_mut().zip(book.row(word)).for_each(|(value, &w)| *value = (f64::from(w) * scale) as f32);
            return;
        }
        let mut codes = vec![0; self.k];
        self.codes(bytes, &mut codes);
        out.iter_mut().zip(&codes).for_each(|(value, &code)| *value = self.code_value(code));
        out.iter_mut().zip(self.centres()).for_each(|(value, &centre)| *value += centre as f32);
    }
}

/// Where 16 codes begin and end, in released integers, if the bins of a public partition hold nothing below 0: one
/// deviation of the noise below the least value, and at the largest. Bins of both signs have their codes around 0.
fn one_sided(mechanism: &Mechanism) -> Option<[f64; 2]> {
    mechanism.projection().bin_signs()?;
    let (bounds, unit) = (mechanism.value_bounds()?, mechanism.value_unit());
    let deviation = mechanism.noise_moments()?.variance.sqrt();
    let ends = bounds.iter().copied().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
    (ends[0] >= 0.0 && mechanism.centres().is_empty()).then(|| [(ends[0] - deviation) / unit, ends[1] / unit])
}

/// The encoding that suits a mechanism's output by itself.
fn natural(mechanism: &Mechanism) -> Encoding {
    match mechanism.id().output() {
        OutputKind::Values => Encoding::F32,
        OutputKind::Bits => Encoding::B1,
        OutputKind::Words => {
            let book = mechanism.parameters().book.as_ref().and_then(|file| file.content());
            Encoding::Word { bytes: if book.is_some_and(|book| book.shape().0 > 1 << 16) { 3 } else { 2 } }
        }
        OutputKind::Symbols => Encoding::Symbols { count: mechanism.symbol_values().len() as u8 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder(count: u8, k: usize) -> Encoder {
        let encoding = Encoding::Symbols { count };
        Encoder {
            encoding,
            k,
            divisor: 1,
            first: -8,
            unit: 1.0,
            values: (0..count).map(|v| f64::from(v) - 1.0).collect(),
            centres: Vec::new(),
            book: None,
        }
    }

    /// Value stability: the order that the documentation promises.
    #[test]
    fn packed_symbols_lie_as_documented() {
        for (count, codes, bytes) in [
            (2, vec![1, 0, 0, 0, 0, 0, 1, 1, 1], vec![0b1000_0011, 0b1000_0000]),
            (3, vec![2, 1, 0, 1, 2, 1], vec![2 * 81 + 27 + 3 + 2, 81]),
            (4, vec![3, 0, 1, 2, 2], vec![0b1100_0110, 0b1000_0000]),
            (5, vec![4, 0, 3], vec![0x40, 0x30]),
            (16, vec![15, 1, 7], vec![0xf1, 0x70]),
        ] {
            let encoder = encoder(count, codes.len());
            let mut out = vec![0; encoder.bytes_per_row()];
            encoder.encode(&codes, &mut out);
            assert_eq!(out, bytes, "{count} symbols");
            let mut back = vec![0; codes.len()];
            encoder.codes(&out, &mut back);
            assert!(back.iter().map(|&code| i64::from(code)).eq(codes.iter().copied()), "{count} symbols");
            let mut values = vec![0.0; codes.len()];
            encoder.decode(&out, &mut values);
            assert!(values.iter().zip(&codes).all(|(&value, &code)| value == code as f32 - 1.0));
        }
    }

    /// A block is what its rows are one by one: every encoding, whole and partial blocks, values beyond 16 bits.
    #[test]
    fn blocks_encode_as_rows_do() {
        for k in [1, 5, 8, 31, 32, 33, 64, 160, 300] {
            for encoding in [Encoding::F32, Encoding::I16, Encoding::B8, Encoding::B4, Encoding::B1] {
                for (divisor, first, unit) in [(1, -8, 0.125), (7, -2, 0.125), (1, 5, 0.3)] {
                    let encoder = Encoder { encoding, k, divisor, first, unit, ..encoder(0, k) };
                    let values: Vec<i16> = (0..k * LANES).map(|i| (i * 7919) as i16).collect();
                    let mut wide = vec![(3, 40_000), (k * LANES - 1, -123_456_789)];
                    wide.extend((k > 1).then_some((3 + (k - 1) * LANES, 65_536)));
                    let mut released = Released::default();
                    (released.values, released.wide) = (values, wide);
                    check(&encoder, &released);
                }
            }
            for count in [2, 3, 4, 5, 16] {
                let encoder = encoder(count, k);
                let codes = (0..k * LANES).map(|i| (i * 7919 % usize::from(count)) as u8).collect();
                let mut released = Released::default();
                released.codes = codes;
                check(&encoder, &released);
            }
        }
    }

    /// Codes of blocks of pixels begin a deviation of the noise below 0 and end at the largest sum; others surround 0.
    #[test]
    fn codes_of_one_sided_bins_cover_what_a_row_can_have() {
        use crate::mechanism::{MechanismId, Parameters, Required};
        use crate::projection::Seed;
        use crate::vectors::Range;
        let of = |bins: Option<&str>, lo: f64| {
            let range = Range { lo, hi: 255.0 };
            let mut parameters = Parameters::new(Required {
                mechanism: MechanismId::DpOporpStaircase,
                dim: 784,
                k: 49,
                epsilon: 1.0,
                beta: 255.0,
                range,
                seed: Seed([1; 32]),
            });
            parameters.bins = bins.map(|bins| bins.parse().unwrap());
            parameters.norm = Some(9.2 * 255.0);
            let mechanism = Mechanism::new(parameters).unwrap();
            (Encoder::new(&mechanism, Some(Encoding::B4)).unwrap(), mechanism)
        };
        let (encoder, mechanism) = of(Some("grid:28x28"), 0.0);
        let ends = [0, 15].map(|code| f64::from(encoder.code_value(code)));
        let (deviation, step) = (mechanism.noise_moments().unwrap().variance.sqrt(), encoder.statement().step);
        assert!((ends[0] + deviation).abs() <= step && ends[0] < 0.0, "{ends:?}");
        assert!((16.0 * 255.0 - step..=16.0 * 255.0 + step).contains(&ends[1]), "{ends:?}");
        for (bins, lo) in [(None, 0.0), (Some("grid:28x28"), -1.0)] {
            assert_eq!(of(bins, lo).0.statement().offset, -7.5);
        }
    }

    /// Every byte that an encoder can write, and no other, is accepted: all bytes, whole and last, of every packing.
    #[test]
    fn accepts_what_it_writes() {
        for k in [8, 3, 9] {
            for count in [2, 3, 4, 5, 16] {
                let encoder = encoder(count, k);
                let (per_byte, _) = encoder.encoding.packing();
                let in_last = if k % per_byte == 0 { per_byte } else { k % per_byte };
                let mut written = std::collections::HashSet::new();
                for number in 0..usize::from(count).pow(in_last as u32) {
                    let mut row = vec![0; k];
                    for (at, x) in row[k - in_last..].iter_mut().enumerate() {
                        *x = (number / usize::from(count).pow(at as u32) % usize::from(count)) as i64;
                    }
                    let mut bytes = vec![0; encoder.bytes_per_row()];
                    encoder.encode(&row, &mut bytes);
                    written.insert(bytes);
                }
                for last in 0..=255 {
                    let mut bytes = vec![0; encoder.bytes_per_row()];
                    *bytes.last_mut().unwrap() = last;
                    assert_eq!(encoder.accepts(&bytes), written.contains(&bytes), "{count} symbols, k {k}, {last}");
                }
                assert!(!encoder.accepts(&[]));
            }
        }
        let floats = Encoder { encoding: Encoding::F32, k: 2, ..encoder(2, 2) };
        let row = |x: f32| [1.0f32.to_le_bytes(), x.to_le_bytes()].concat();
        assert!(floats.accepts(&row(-3.5)));
        assert!(!floats.accepts(&row(f32::NAN)) && !floats.accepts(&row(f32::INFINITY)) && !floats.accepts(&[0; 9]));
    }

    fn check(encoder: &Encoder, released: &Released) {
        let width = encoder.bytes_per_row();
        for rows in [1, 6, 31, 32] {
            let (mut room, mut block) = (EncoderRoom::default(), vec![0; rows * width]);
            encoder.encode_block(rows, released, &mut room, &mut block);
            for (r, found) in block.chunks_exact(width).enumerate() {
                let at = |j: usize| {
                    let at = j * LANES + r;
                    let exact = released.wide.iter().find(|(wide, _)| *wide == at).map(|(_, x)| *x);
                    exact.unwrap_or_else(|| match released.codes.get(at) {
                        Some(code) => i64::from(*code),
                        None => i64::from(released.values[at]),
                    })
                };
                let (row, mut expected) = ((0..encoder.k).map(at).collect::<Vec<_>>(), vec![0; width]);
                encoder.encode(&row, &mut expected);
                assert_eq!(found, expected, "{} k {} rows {rows}", encoder.encoding, encoder.k);
            }
        }
    }
}
