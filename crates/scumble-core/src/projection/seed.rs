//! The public seed of a projection. Anyone may know it; it must never be the source of noise.

use crate::entropy::{self, NoEntropy};
use crate::error::{ParameterError, ProjectionError};
use crate::facts::hex;
use std::fmt;

/// 32 public bytes that fix a projection on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A fresh public seed from the operating system, for a user who gives none.
    pub fn generate() -> Result<Self, NoEntropy> {
        let mut bytes = [0; 32];
        entropy::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, ParameterError> {
        if text.len() != 64 || !text.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(ProjectionError::Seed.into());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ProjectionError::Seed)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ProjectionError::Seed)?;
        }
        Ok(Self(bytes))
    }

    /// 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({})", self.to_hex())
    }
}

impl serde::Serialize for Seed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> serde::Deserialize<'de> for Seed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_hex(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trip_and_refusals() {
        let seed = Seed(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(Seed::from_hex(&seed.to_hex()).unwrap(), seed);
        for bad in ["", "00", &"g".repeat(64), &"+0".repeat(32), &"é".repeat(32)] {
            assert!(Seed::from_hex(bad).is_err(), "{bad}");
        }
    }
}
