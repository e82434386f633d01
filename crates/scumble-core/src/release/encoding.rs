//! How one released row is laid out in bytes. Baked into every release: a change here is value-breaking.

use crate::error::{EncodingError, ParameterError};
use std::{fmt, str::FromStr};

/// The form of the `k` released coordinates of a row. Numbers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One 32-bit float per coordinate.
    F32,
    /// One 16-bit integer per coordinate.
    I16,
    /// One 8-bit integer per coordinate.
    B8,
    /// Four bits per coordinate, the first in the high half of byte 0.
    B4,
    /// One bit per coordinate, the first in the most significant bit of byte 0 (as `numpy.packbits`).
    B1,
    /// One of `count` symbols per coordinate, the first most significant: 2 are bits, 3 are base-3 digits, five to a
    /// byte, 4 take two bits, up to 16 take four.
    Symbols {
        /// How many symbols there are.
        count: u8,
    },
    /// The number of one word for the whole row, in `bytes` bytes.
    Word {
        /// 2 or 3.
        bytes: u8,
    },
}

impl Encoding {
    /// Bytes that `k` coordinates take.
    pub fn bytes_per_row(&self, k: usize) -> usize {
        match self {
            Self::F32 => 4 * k,
            Self::I16 => 2 * k,
            Self::B8 => k,
            Self::B4 => k.div_ceil(2),
            Self::B1 => k.div_ceil(8),
            Self::Symbols { count } => k.div_ceil(symbols_per_byte(*count)),
            Self::Word { bytes } => usize::from(*bytes),
        }
    }
}

fn symbols_per_byte(count: u8) -> usize {
    match count {
        0..=2 => 8,
        3 => 5,
        4 => 4,
        5..=16 => 2,
        _ => 1,
    }
}

impl Encoding {
    /// Codes per byte and the base they are packed in, for the packed encodings.
    pub fn packing(self) -> (usize, u16) {
        match self {
            Self::B1 => (8, 2),
            Self::B4 => (2, 16),
            Self::Symbols { count } => {
                let per_byte = symbols_per_byte(count);
                (per_byte, [256, 256, 16, 0, 4, 3, 0, 0, 2][per_byte])
            }
            Self::F32 | Self::I16 | Self::B8 | Self::Word { .. } => (1, 256),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::I16 => f.write_str("i16"),
            Self::B8 => f.write_str("b8"),
            Self::B4 => f.write_str("b4"),
            Self::B1 => f.write_str("b1"),
            Self::Symbols { count } => write!(f, "s{count}"),
            Self::Word { bytes } => write!(f, "w{}", 8 * bytes),
        }
    }
}

impl FromStr for Encoding {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let symbols = text.strip_prefix('s').and_then(|n| n.parse().ok()).filter(|n| (2..=16).contains(n));
        match (text, symbols) {
            ("f32", _) => Ok(Self::F32),
            ("i16", _) => Ok(Self::I16),
            ("b8", _) => Ok(Self::B8),
            ("b4", _) => Ok(Self::B4),
            ("b1", _) => Ok(Self::B1),
            ("w16", _) => Ok(Self::Word { bytes: 2 }),
            ("w24", _) => Ok(Self::Word { bytes: 3 }),
            (_, Some(count)) => Ok(Self::Symbols { count }),
            _ => Err(EncodingError::Unknown { text: text.into() }.into()),
        }
    }
}

impl serde::Serialize for Encoding {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Encoding {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_row_of_every_encoding() {
        let symbols = |count| Encoding::Symbols { count };
        for (encoding, k, bytes) in [
            (Encoding::F32, 3, 12),
            (Encoding::I16, 3, 6),
            (Encoding::B8, 3, 3),
            (Encoding::B4, 3, 2),
            (Encoding::B1, 8, 1),
            (Encoding::B1, 9, 2),
            (symbols(2), 9, 2),
            (symbols(3), 5, 1),
            (symbols(3), 160, 32),
            (symbols(3), 161, 33),
            (symbols(4), 5, 2),
            (symbols(5), 5, 3),
            (symbols(16), 64, 32),
        ] {
            assert_eq!(encoding.bytes_per_row(k), bytes, "{encoding:?} {k}");
        }
    }
}
