//! From released integers to bytes and back. Everything here is post-processing: it reads no private data and costs no
//! privacy.

use super::Encoding;
use crate::error::ParameterError;
use crate::mechanism::{Mechanism, OutputKind};
use serde::{Deserialize, Serialize};

/// How to read the bytes of a row without this library. Part of the certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncodingStatement {
    /// `f32`, `i16`, `b8`, `b4`, `b1`, `s3`, `s4`, `s5` or `s16`.
    pub name: String,
    /// Bytes a row.
    pub bytes_per_row: usize,
    /// Value of one step of the code: value = (code + offset) * step. For `f32` the number is the value itself.
    pub step: f64,
    /// See `step`.
    pub offset: f64,
    /// Released integers a step of the code.
    pub divisor: u64,
    /// The value of each symbol, where there are symbols: then `step` and `offset` do not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// Encodes released integers, with every number fixed by public parameters.
#[derive(Debug, Clone)]
pub struct Encoder {
    encoding: Encoding,
    k: usize,
    divisor: i64,
    unit: f64,
    values: Vec<f64>,
}

/// Standard deviations a code of 16 levels spans a step of: the least squared error for a normal value (Lloyd, Max).
const STEP_16: f64 = 0.335;
/// Likewise for 256 levels.
const STEP_256: f64 = 0.031;

impl Encoder {
    /// The encoder of a mechanism; `None` takes the mechanism's own (values: f32, bits: b1, symbols: packed).
    pub fn new(mechanism: &Mechanism, encoding: Option<Encoding>) -> Result<Self, ParameterError> {
        let encoding = encoding.unwrap_or_else(|| natural(mechanism));
        let fits = match mechanism.id().output() {
            OutputKind::Values => !matches!(encoding, Encoding::Symbols { .. }),
            OutputKind::Bits => encoding == Encoding::B1,
            OutputKind::Symbols => encoding == natural(mechanism),
        };
        if !fits {
            return Err(ParameterError::invalid(format!(
                "{} cannot be written as {encoding}; leave --encoding out to take {}",
                mechanism.id(),
                natural(mechanism)
            )));
        }
        let unit = mechanism.value_unit();
        let spread = mechanism.typical_spread() / unit; // in released integers
        let divisor = match encoding {
            // i16 keeps the integers themselves whenever they fit, bound and eight deviations of noise together.
            Encoding::I16 => ((mechanism.largest_value() / unit + 8.0 * spread) / 32767.0).ceil(),
            Encoding::B8 => spread * STEP_256,
            Encoding::B4 => spread * STEP_16,
            Encoding::F32 | Encoding::B1 | Encoding::Symbols { .. } => 1.0,
        };
        Ok(Self {
            encoding,
            k: mechanism.k(),
            divisor: (divisor.round() as i64).max(1),
            unit,
            values: mechanism.symbol_values(),
        })
    }

    /// The encoder that a certificate describes.
    pub fn from_statement(statement: &EncodingStatement, k: usize) -> Result<Self, ParameterError> {
        let encoding: Encoding = statement.name.parse()?;
        if encoding.bytes_per_row(k) != statement.bytes_per_row || statement.divisor == 0 {
            return Err(ParameterError::invalid("the certificate's encoding does not fit its k"));
        }
        let divisor =
            i64::try_from(statement.divisor).map_err(|_| ParameterError::invalid("encoding divisor too large"))?;
        Ok(Self { encoding, k, divisor, unit: statement.step / divisor as f64, values: statement.values.clone() })
    }

    /// The layout.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Size of the sketch.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Bytes a row.
    pub fn bytes_per_row(&self) -> usize {
        self.encoding.bytes_per_row(self.k)
    }

    /// Variance that the rounding to codes adds to a value.
    pub fn rounding_variance(&self) -> f64 {
        let step = self.divisor as f64 * self.unit;
        match self.encoding {
            Encoding::I16 | Encoding::B8 | Encoding::B4 if self.divisor > 1 => step * step / 12.0,
            _ => 0.0,
        }
    }

    /// What the certificate says of it.
    pub fn statement(&self) -> EncodingStatement {
        EncodingStatement {
            name: self.encoding.to_string(),
            bytes_per_row: self.bytes_per_row(),
            step: self.divisor as f64 * self.unit,
            offset: self.offset(),
            divisor: self.divisor as u64,
            values: self.values.clone(),
        }
    }

    fn offset(&self) -> f64 {
        if self.encoding == Encoding::B4 { -7.5 } else { 0.0 }
    }

    /// Encodes one row of released integers.
    pub fn encode(&self, row: &[i64], out: &mut [u8]) {
        debug_assert_eq!((row.len(), out.len()), (self.k, self.bytes_per_row()));
        match self.encoding {
            Encoding::F32 => {
                for (bytes, &x) in out.chunks_exact_mut(4).zip(row) {
                    bytes.copy_from_slice(&((x as f64 * self.unit) as f32).to_le_bytes());
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
            Encoding::B4 => self.pack(row, out, 2, |x| (x.div_euclid(self.divisor) + 8).clamp(0, 15) as u8, 16),
            Encoding::B1 => self.pack(row, out, 8, |x| u8::from(x > 0), 2),
            Encoding::Symbols { count } => {
                let (per_byte, base) = self.encoding.packing();
                self.pack(row, out, per_byte, |x| (x as u64).min(u64::from(count) - 1) as u8, base);
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

    /// The real values of a row: bits as -1 and 1, symbols by their table.
    pub fn decode(&self, bytes: &[u8], out: &mut [f32]) {
        if self.encoding == Encoding::F32 {
            for (value, four) in out.iter_mut().zip(bytes.chunks_exact(4)) {
                *value = f32::from_le_bytes(four.try_into().expect("four bytes"));
            }
            return;
        }
        let mut codes = vec![0; self.k];
        self.codes(bytes, &mut codes);
        let (step, offset) = (self.divisor as f64 * self.unit, self.offset());
        for (value, &code) in out.iter_mut().zip(&codes) {
            *value = match self.encoding {
                Encoding::Symbols { .. } => self.values[code as usize] as f32,
                Encoding::B1 => (2 * code - 1) as f32,
                _ => ((f64::from(code) + offset) * step) as f32,
            };
        }
    }
}

/// The encoding that a mechanism's output has by itself.
fn natural(mechanism: &Mechanism) -> Encoding {
    match mechanism.id().output() {
        OutputKind::Values => Encoding::F32,
        OutputKind::Bits => Encoding::B1,
        OutputKind::Symbols => Encoding::Symbols { count: mechanism.symbol_values().len() as u8 },
    }
}
