//! Where the samplers of blocks get their random bits: a worker's own stream, or one stream per row.

use super::kernels::LANES;
use super::rng::SecretRng;

/// Random words for values, and more bits for the few that their first bits leave open.
pub trait Source {
    /// 32 bits for each of the next values, as little-endian words.
    fn words(&mut self, values: usize) -> &[u8];

    /// The bits that follow the first ones of the value at this place.
    fn more(&mut self, at: usize) -> &mut SecretRng;
}

/// A source for flips and symbols of whole blocks.
pub trait LaneSource: Source {
    /// 16 bits for each lane of the next outputs: the high bytes of all lanes, then the low ones, output by output.
    fn coins(&mut self, outputs: usize) -> &[u8];
}

impl Source for SecretRng {
    #[inline]
    fn words(&mut self, values: usize) -> &[u8] {
        self.take(4 * values)
    }

    #[inline]
    fn more(&mut self, _: usize) -> &mut SecretRng {
        self
    }
}

impl LaneSource for SecretRng {
    #[inline]
    fn coins(&mut self, outputs: usize) -> &[u8] {
        self.take(2 * LANES * outputs)
    }
}
