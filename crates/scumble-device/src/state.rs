//! What a device keeps: its key, what it has charged, which reports wait. One blob, versioned and sealed.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `scs1` |
//! | 8 | generation: how often it has changed |
//! | 32 | the device's key |
//! | 4 x 16 | spent epsilon and delta for attribute, l1, l2, record |
//! | 4, then 36 each | contents: slot and content (keyed hashes), last period plus one |
//! | 4, then 4 and that many each | pending reports |
//! | 32 | keyed hash of all before |
//!
//! Numbers are little-endian. The seal finds damage, not forgers: anyone who can write the state has the key as well.

use crate::entropy::Entropy;
use crate::policy::{Loss, UNITS};
use crate::refusal::Refusal;
use scumble_core::noise::NoiseKey;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

const MAGIC: &[u8; 4] = b"scs1";
const SEAL: usize = 32;
/// The most reports that may wait.
const MOST_PENDING: usize = 1024;

/// A content that a slot has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Which slot of which campaign: a keyed hash.
    pub slot: [u8; 16],
    /// Which vector: a keyed hash.
    pub content: [u8; 16],
    /// The last period in which it was reported, plus one.
    pub reported: u32,
}

/// See the module's documentation. Never printed; the key is wiped when dropped.
#[derive(Clone)]
pub struct State {
    /// How often it has changed.
    pub generation: u64,
    key: [u8; 32],
    /// What was charged, by unit.
    pub spent: [Loss; UNITS],
    /// What was reported.
    pub contents: Vec<Content>,
    /// Reports that wait to be sent.
    pub pending: Vec<Vec<u8>>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State(generation {})", self.generation)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl State {
    /// The state of a new device, with a key from the host's entropy.
    pub fn new(entropy: Entropy) -> Result<Self, Refusal> {
        let mut state = Self {
            generation: 0,
            key: [0; 32],
            spent: [Loss::default(); UNITS],
            contents: Vec::new(),
            pending: Vec::new(),
        };
        entropy(&mut state.key)?;
        // A source that answers without filling is not a source.
        if state.key == [0; 32] { Err(Refusal::NoEntropy) } else { Ok(state) }
    }

    /// The device's key.
    pub fn key(&self) -> NoiseKey {
        NoiseKey::from_bytes(self.key)
    }

    /// True when both are states of one device.
    pub fn has_key_of(&self, other: &Self) -> bool {
        self.key == other.key
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let waiting: usize = self.pending.iter().map(|report| 4 + report.len()).sum();
        let room = 4 + 8 + 32 + UNITS * 16 + 4 + self.contents.len() * 36 + 4 + waiting + SEAL;
        let mut out = Zeroizing::new(Vec::with_capacity(room)); // never moved while it holds the key
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.key);
        for loss in &self.spent {
            out.extend_from_slice(&loss.epsilon.to_le_bytes());
            out.extend_from_slice(&loss.delta.to_le_bytes());
        }
        out.extend_from_slice(&(self.contents.len() as u32).to_le_bytes());
        for content in &self.contents {
            out.extend_from_slice(&content.slot);
            out.extend_from_slice(&content.content);
            out.extend_from_slice(&content.reported.to_le_bytes());
        }
        out.extend_from_slice(&(self.pending.len() as u32).to_le_bytes());
        for report in &self.pending {
            out.extend_from_slice(&(report.len() as u32).to_le_bytes());
            out.extend_from_slice(report);
        }
        let seal = seal(&self.key, &out);
        out.extend_from_slice(&seal);
        out
    }

    /// Reads a stored state; damage in any bit is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let (body, stored) = bytes.split_last_chunk::<SEAL>().ok_or(Refusal::DamagedState)?;
        let state = Self::read(&mut Bytes(body)).ok_or(Refusal::DamagedState)?;
        // The time of this comparison depends on no secret that the holder of the state does not have.
        if seal(&state.key, body) == *stored { Ok(state) } else { Err(Refusal::DamagedState) }
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        if bytes.take::<4>()? != *MAGIC {
            return None;
        }
        let generation = u64::from_le_bytes(bytes.take()?);
        let mut state = Self {
            generation,
            key: bytes.take()?,
            spent: [Loss::default(); UNITS],
            contents: Vec::new(),
            pending: Vec::new(),
        };
        for loss in &mut state.spent {
            *loss = Loss { epsilon: u64::from_le_bytes(bytes.take()?), delta: u64::from_le_bytes(bytes.take()?) };
        }
        for _ in 0..bytes.count()? {
            let (slot, content, reported) = (bytes.take()?, bytes.take()?, bytes.count()?);
            state.contents.push(Content { slot, content, reported });
        }
        for _ in 0..bytes.count()? {
            let length = bytes.count()? as usize;
            state.pending.push(bytes.slice(length)?.to_vec());
        }
        bytes.0.is_empty().then_some(state)
    }

    /// Adds a report to those that wait.
    pub fn wait(&mut self, report: Vec<u8>) -> Result<(), Refusal> {
        if self.pending.len() >= MOST_PENDING {
            return Err(Refusal::TooManyPending);
        }
        self.pending.push(report);
        Ok(())
    }
}

fn seal(key: &[u8; 32], body: &[u8]) -> [u8; SEAL] {
    NoiseKey::from_bytes(*key).hash(&[b"state", body])
}

/// What is left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn count(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut state = State::new(|bytes| {
            bytes.fill(7);
            Ok(())
        })
        .unwrap();
        state.generation = 3;
        state.spent[3] = Loss { epsilon: 5, delta: 6 };
        state.contents.push(Content { slot: [1; 16], content: [2; 16], reported: 9 });
        state.pending = vec![vec![4; 40], vec![5; 33]];
        state
    }

    #[test]
    fn states_read_back_and_every_damaged_byte_is_noticed() {
        let bytes = state().to_bytes();
        let again = State::from_bytes(&bytes).unwrap();
        assert_eq!(*again.to_bytes(), *bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= 1 << bit;
                assert_eq!(State::from_bytes(&damaged).err(), Some(Refusal::DamagedState), "byte {at}");
            }
        }
        for length in 0..bytes.len() {
            assert!(State::from_bytes(&bytes[..length]).is_err());
        }
        assert!(State::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn no_entropy_no_key() {
        assert_eq!(State::new(|_| Err(Refusal::NoEntropy)).err(), Some(Refusal::NoEntropy));
        assert_eq!(State::new(|_| Ok(())).err(), Some(Refusal::NoEntropy)); // answered, but filled nothing
    }
}
