//! The named ChaCha20 streams of a seed: key = seed, nonce = 4 letters and the repetition, counted in 32-bit words.

use super::Seed;
use crate::chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Entries of a dense matrix.
pub(super) const MATRIX: [u8; 4] = *b"matr";
/// Round keys of OPORP's permutation.
pub(super) const PERMUTATION: [u8; 4] = *b"perm";
/// OPORP's signs.
pub(super) const SIGNS: [u8; 4] = *b"sign";

/// One named stream, readable from any word.
#[derive(Clone)]
pub(super) struct Stream(ChaCha20Rng);

impl Stream {
    pub(super) fn new(seed: &Seed, label: [u8; 4], repetition: u32) -> Self {
        let mut rng = ChaCha20Rng::from_seed(seed.0);
        rng.set_stream(u64::from(u32::from_le_bytes(label)) | u64::from(repetition) << 32);
        Self(rng)
    }

    /// A reader whose next word is word number `word` of the stream.
    pub(super) fn at(&self, word: u128) -> ChaCha20Rng {
        let mut rng = self.0.clone();
        rng.set_word_pos(word);
        rng
    }

    /// Bit `i` of the stream, least significant bit of word 0 first.
    pub(super) fn bit(&self, i: u64) -> bool {
        self.at(u128::from(i / 32)).next_u32() >> (i % 32) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_chacha20_with_the_label_as_nonce() {
        // Zero key, zero nonce, block 0: the published test vector of ChaCha20.
        let mut zero = Stream::new(&Seed([0; 32]), [0; 4], 0).at(0);
        assert_eq!([zero.next_u32(), zero.next_u32()], [0xade0_b876, 0x903d_f1a0]);
        let stream = Stream::new(&Seed([1; 32]), MATRIX, 3);
        let mut whole = [0; 4 * 100];
        stream.at(0).fill_bytes(&mut whole);
        for word in [0, 1, 15, 16, 17, 63, 64, 99] {
            let expected = u32::from_le_bytes(whole[4 * word..][..4].try_into().unwrap());
            assert_eq!(stream.at(word as u128).next_u32(), expected, "word {word}");
            assert_eq!(stream.bit(32 * word as u64 + 7), expected >> 7 & 1 == 1);
        }
    }
}
