//! AES-128 as a function of a counter: any piece of any stream, the same on every processor.

#[cfg(target_arch = "x86_64")]
use super::kernels::aes::Vaes;
use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes128, Block};
use std::fmt;

/// Blocks made at a time where the processor has no VAES.
const BLOCKS: usize = 8;

/// An expanded secret key. Its `Debug` output shows nothing of it.
#[allow(clippy::large_enum_variant)] // one per key, never moved
pub(super) enum Cipher {
    /// Two or four blocks per register, where the processor can: the same bytes.
    #[cfg(target_arch = "x86_64")]
    Vaes(Vaes),
    /// AES instructions where there are some, else constant-time code.
    Plain(Aes128),
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

impl Cipher {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(vaes) = Vaes::new(crate::simd::level(), key) {
            return Self::Vaes(vaes);
        }
        Self::Plain(Aes128::new(key.into()))
    }

    /// The blocks of `counter`, `counter + 1`, .. (little-endian) one after another; the last may be cut short.
    pub(super) fn fill(&self, counter: u128, out: &mut [u8]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vaes(vaes) => vaes.fill(counter, out),
            Self::Plain(aes) => {
                for (chunk, out) in out.chunks_mut(16 * BLOCKS).enumerate() {
                    let counter = counter.wrapping_add((BLOCKS * chunk) as u128);
                    let mut blocks: [Block; BLOCKS] =
                        std::array::from_fn(|i| counter.wrapping_add(i as u128).to_le_bytes().into());
                    aes.encrypt_blocks(&mut blocks[..out.len().div_ceil(16)]);
                    out.chunks_mut(16).zip(&blocks).for_each(|(out, block)| out.copy_from_slice(&block[..out.len()]));
                }
            }
        }
    }

    /// Encrypts every block (a little-endian number) by itself.
    pub(super) fn encrypt(&self, blocks: &mut [u128]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vaes(vaes) => vaes.encrypt(blocks),
            Self::Plain(aes) => {
                for chunk in blocks.chunks_mut(BLOCKS) {
                    let mut room = [Block::default(); BLOCKS];
                    let room = &mut room[..chunk.len()];
                    room.iter_mut().zip(&*chunk).for_each(|(to, block)| *to = block.to_le_bytes().into());
                    aes.encrypt_blocks(room);
                    chunk.iter_mut().zip(room).for_each(|(to, block)| *to = u128::from_le_bytes((*block).into()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 197, appendix C.1, and equal pieces of a stream both ways.
    #[test]
    fn blocks_are_those_of_the_standard() {
        let key = std::array::from_fn(|i| i as u8);
        let plain: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
        let wanted = u128::from_be_bytes(0x69c4e0d8_6a7b0430_d8cdb780_70b4c55au128.to_be_bytes()).to_be_bytes();
        for cipher in [Cipher::new(&key), Cipher::Plain(Aes128::new(&key.into()))] {
            let block = |counter: u128| {
                let mut blocks = [5, counter, 6];
                cipher.encrypt(&mut blocks[1..2]);
                blocks[1].to_le_bytes()
            };
            assert_eq!(block(u128::from_le_bytes(plain)), wanted);
            let mut whole = [0; 1000];
            cipher.fill(u128::MAX - 7, &mut whole);
            for (at, piece) in whole.chunks(16).enumerate() {
                let counter = (u128::MAX - 7).wrapping_add(at as u128);
                assert_eq!(&block(counter)[..piece.len()], piece);
            }
            for many in [0, 1, 7, 8, 9, 16, 31, 32, 33] {
                let mut blocks: Vec<u128> = (0..many).map(|i| (i * i) << 70 | i).collect();
                let wanted: Vec<_> = blocks.iter().map(|&counter| block(counter)).collect();
                cipher.encrypt(&mut blocks);
                assert_eq!(blocks.iter().map(|block| block.to_le_bytes()).collect::<Vec<_>>(), wanted);
            }
        }
    }
}
