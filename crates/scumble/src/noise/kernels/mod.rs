//! Samplers that work on blocks: prefixes of uniform reals against tables, many at a time.
//!
//! A kernel decides all draws that their first bits decide and lists the others, in order, for the caller to extend by
//! fresh bits: a tie is never drawn again. Each is plain Rust and AVX2, equal bit for bit.

#![allow(unsafe_code)] // only to call and to be AVX2 kernels

#[cfg(target_arch = "x86_64")]
pub(super) mod aes;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

use crate::simd::Level;

/// Values side by side in a block: rows of the projection's blocks.
pub(crate) const LANES: usize = 32;

/// Classes that the vector kernels look up in registers.
pub(crate) const CLASSES: usize = 16;

/// Bits of a uniform real that choose a cell of a [`Guide`], after the sign.
pub(super) const GUIDE_BITS: u32 = 15;

/// Marks a cell that holds more than one threshold.
pub(super) const CROWDED: u32 = 1 << 31;

/// Where a projected value stands among ascending cuts: class c has c cuts below it.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    /// `x > cut` reaches the next class.
    cuts: Vec<i16>,
    /// The class of every value from `-bound` to `bound`, in order.
    classes: Vec<u8>,
    /// `class(x) = (x + offset) * factor >> 16` in 16 unsigned bits, where that holds for every single value.
    reciprocal: Option<(i16, u16)>,
}

impl Cuts {
    /// The classes that `class` gives the values of `-bound..=bound`; `None` unless they rise one by one from 0 and
    /// there are at most 256.
    pub(crate) fn new(bound: i16, class: impl Fn(i16) -> usize) -> Option<Self> {
        let classes: Vec<usize> = (-bound..=bound).map(class).collect();
        let rising = classes[0] == 0 && classes.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1);
        if !rising || *classes.last()? > 255 {
            return None;
        }
        let steps = classes.windows(2).zip(-bound..);
        let cuts: Vec<i16> = steps.filter(|(pair, _)| pair[1] > pair[0]).map(|(_, x)| x).collect();
        let classes: Vec<u8> = classes.iter().map(|&class| class as u8).collect();
        let reciprocal = match cuts[..] {
            [first, second, ..] => find_reciprocal(bound, first, second, &classes),
            _ => None,
        };
        Some(Self { cuts, classes, reciprocal })
    }

    /// How many classes there are.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The class of a value within the bound.
    #[inline(always)]
    pub(crate) fn class(&self, x: i16) -> usize {
        let bound = (self.classes.len() / 2) as i32;
        usize::from(self.classes[(i32::from(x) + bound) as usize])
    }
}

/// Offset and factor for cuts that lie evenly, tried on every value.
fn find_reciprocal(bound: i16, first: i16, second: i16, classes: &[u8]) -> Option<(i16, u16)> {
    let step = i32::from(second) - i32::from(first);
    let offset = i16::try_from(step - 1 - i32::from(first)).ok()?; // the value after the first cut becomes `step`
    let factor = u16::try_from((1 << 16) / step + 1).ok()?;
    let class = |x: i16| (u32::from(x.wrapping_add(offset) as u16) * u32::from(factor)) >> 16;
    (-bound..=bound).zip(classes).all(|(x, &found)| class(x) == u32::from(found)).then_some((offset, factor))
}

/// 16-bit prefixes of thresholds, one for each class.
#[derive(Debug, Clone)]
pub(crate) struct Prefixes {
    /// By class.
    pub(crate) words: Vec<u16>,
}

macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?)) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::too_many_arguments)] // plain slices and numbers: what a kernel is called with
        pub(super) fn $name(level: Level, $($arg: $type),*) {
            match level {
                Level::Scalar => scalar::$name($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level proves that the processor has AVX2.
                Level::Avx2(_) => unsafe { avx2::$name($($arg),*) },
                #[cfg(not(target_arch = "x86_64"))]
                Level::Avx2(_) => unreachable!("found on x86-64 only"),
            }
        }
    };
}

kernel! {
    /// One bit a value: 1 in classes from `plus_from` on, flipped where the random word is below the class's threshold.
    /// Eight outputs (of `LANES` values each) share a byte, the first most significant. Draws that tie are listed.
    ///
    /// The 16 random bits of value i of an output are bytes i (high) and `LANES` + i (low) of its `2 LANES` bytes.
    flip(
        x: &[i16], cuts: &Cuts, thresholds: &Prefixes, plus_from: usize, random: &[u8], bits: &mut [u8],
        ties: &mut Vec<u32>,
    )
}
kernel! {
    /// One symbol a value: how many of its class's borders the random word has reached. Random bits as for [`flip`].
    /// Draws that tie, or share their high byte with several borders, are listed.
    symbols(
        x: &[i16], cuts: &Cuts, borders: &[Prefixes], random: &[u8], out: &mut [u8], ties: &mut Vec<u32>,
    )
}
kernel! {
    /// Signed magnitudes by a guide table: bit 31 of a random little-endian word is the sign, the next 15 choose the cell, 16 more are
    /// compared with the cell's threshold. Draws that tie or fall into a crowded cell are listed.
    guided(guide: &[u32], random: &[u8], out: &mut [i16], ties: &mut Vec<u32>)
}
