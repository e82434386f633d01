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

/// Where a projected value stands among ascending cuts: class c has c cuts below it. At most [`CLASSES`] classes around
/// zero; values beyond them are outside, for the caller to look at one by one.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    /// `x > cut` reaches the next class.
    cuts: Vec<i16>,
    /// The least and the greatest value with a class.
    ends: (i16, i16),
    /// True if no value that may occur is outside.
    holds_all: bool,
    /// The class of every value between the ends, in order.
    classes: Vec<u8>,
    /// `class(x) = (x + offset) * factor >> 16` in 16 unsigned bits, where that holds for every single value.
    reciprocal: Option<(i16, u16)>,
}

impl Cuts {
    /// The classes that `same(a, b)` makes of neighbouring values up to `bound`, as many as there is room for.
    pub(crate) fn new(bound: i64, same: impl Fn(i16, i16) -> bool) -> Self {
        const MOST: i16 = 32_766; // so that a value cut off at 16 bits is outside
        let most = bound.min(MOST.into()) as i16;
        let (mut lo, mut hi, mut cuts) = (0i16, 0i16, Vec::new());
        // Grows by a whole class at a time, upward and downward in turns.
        while cuts.len() + 1 < CLASSES && (lo > -most || hi < most) {
            if hi < most {
                let cut = (hi..most).find(|&x| !same(x, x + 1));
                hi = cut.map_or(most, |cut| cut + 1);
                cuts.extend(cut);
            }
            if lo > -most && cuts.len() + 1 < CLASSES {
                let cut = (-most..lo).rev().find(|&x| !same(x, x + 1));
                lo = cut.unwrap_or(-most);
                cuts.extend(cut);
            }
        }
        // The last classes go on to where they end.
        hi = (hi..most).find(|&x| !same(x, x + 1)).unwrap_or(most);
        lo = (-most..lo).rev().find(|&x| !same(x, x + 1)).map_or(-most, |cut| cut + 1);
        cuts.sort_unstable();
        let classes = (lo..=hi).map(|x| cuts.partition_point(|&cut| cut < x) as u8).collect();
        let mut found = Self {
            cuts,
            ends: (lo, hi),
            holds_all: i64::from(hi) == bound && i64::from(lo) == -bound,
            classes,
            reciprocal: None,
        };
        found.reciprocal = found.find_reciprocal();
        found
    }

    /// True if no value that may occur is outside.
    #[cfg(test)]
    pub(crate) fn holds_all(&self) -> bool {
        self.holds_all
    }

    /// One value of every class, in order.
    pub(crate) fn members(&self) -> impl Iterator<Item = i16> + '_ {
        std::iter::once(self.ends.0).chain(self.cuts.iter().map(|cut| cut + 1))
    }

    /// The class of a value, `None` outside.
    #[inline(always)]
    pub(crate) fn class(&self, x: i16) -> Option<usize> {
        let at = i32::from(x) - i32::from(self.ends.0);
        usize::try_from(at).ok().and_then(|at| self.classes.get(at)).map(|class| usize::from(*class))
    }

    /// Offset and factor for cuts that lie evenly, tried on every value.
    fn find_reciprocal(&self) -> Option<(i16, u16)> {
        let [first, second, ..] = self.cuts[..] else { return None };
        let step = i32::from(second) - i32::from(first);
        let offset = i16::try_from(step - 1 - i32::from(first)).ok()?; // the value after the first cut becomes `step`
        let factor = u16::try_from((1 << 16) / step + 1).ok()?;
        let class = |x: i16| (u32::from(x.wrapping_add(offset) as u16) * u32::from(factor)) >> 16;
        let mut values = (self.ends.0..=self.ends.1).zip(&self.classes);
        values.all(|(x, &found)| class(x) == u32::from(found)).then_some((offset, factor))
    }
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
    /// Eight outputs (of `LANES` values each) share a byte, the first most significant. Draws that tie, and
    /// values outside, are listed.
    ///
    /// The 16 random bits of value i of an output are bytes i (high) and `LANES` + i (low) of its `2 LANES` bytes.
    flip(
        x: &[i16], cuts: &Cuts, thresholds: &Prefixes, plus_from: usize, random: &[u8], bits: &mut [u8],
        ties: &mut Vec<u32>,
    )
}
kernel! {
    /// One symbol a value: how many of its class's borders the random word has reached. Random bits as for [`flip`].
    /// Draws that tie, or share their high byte with several borders, and values outside, are listed.
    symbols(
        x: &[i16], cuts: &Cuts, borders: &[Prefixes], random: &[u8], out: &mut [u8], ties: &mut Vec<u32>,
    )
}
kernel! {
    /// Signed magnitudes by a guide table: bit 31 of a random little-endian word is the sign, the next 15 choose the cell, 16 more are
    /// compared with the cell's threshold. Draws that tie or fall into a crowded cell are listed.
    guided(guide: &[u32], random: &[u8], out: &mut [i16], ties: &mut Vec<u32>)
}
