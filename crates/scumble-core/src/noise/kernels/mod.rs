//! Samplers that work on blocks: prefixes of uniform reals against tables, many at a time.
//!
//! A kernel decides all draws that their first bits decide and lists the others, in order, for the caller to extend by
//! fresh bits: a tie is never drawn again. Each exists in plain Rust and for each level, equal bit for bit.

#![allow(unsafe_code)] // only to call and to be vector kernels
#![cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))] // plain kernels need less

#[cfg(target_arch = "x86_64")]
pub(super) mod aes;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

pub(crate) use crate::simd::LANES;
use crate::simd::kernel;

/// Classes that the vector kernels look up in registers for symbols.
pub(crate) const CLASSES: usize = 16;

/// The same for flips.
pub(crate) const FLIP_CLASSES: usize = 32;

/// Marks a cell that holds more than one threshold.
pub(super) const CROWDED: u32 = 1 << 31;

/// Halvings of the unit that a [`Guide`] divides evenly; its first cell takes what lies below.
const OCTAVES: u32 = 12;

/// Lower bits of a draw that are left for ties: the others fit the 24 bits of [`position`].
const UNUSED: u32 = 7;

/// Cells of reals below 1, as 31 bits: each octave (1/2 to 1, 1/4 to 1/2, ..) has equally many, so that likely and
/// unlikely reals are resolved equally well, and the likely ones need little room in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Guide {
    /// Thresholds above the cell `<< 16`, and the [`Guide::rest`] of the one inside it.
    pub(super) cells: Vec<u32>,
    bits: u32, // log2 of the cells of an octave
}

impl Guide {
    /// Makes the cells, each from its first real and the first after it (31 bits).
    pub(super) fn new(bits: u32, cell: impl FnMut((u32, u32)) -> u32) -> Self {
        let lowest = 31 - OCTAVES;
        assert!(lowest - bits > UNUSED, "a cell is wider than what is not looked at");
        let octave = |e: u32| (1 << bits..2 << bits).map(move |at: u32| (at << (e - bits), (at + 1) << (e - bits)));
        let cells = std::iter::once((0, 1 << lowest)).chain((lowest..31).flat_map(octave)).map(cell).collect();
        Self { cells, bits }
    }

    /// The cell of a draw.
    #[inline(always)]
    pub(super) fn cell(&self, draw: u32) -> usize {
        ((position(draw) >> (23 - self.bits)) as usize).saturating_sub(self.base() as usize)
    }

    /// The position of a draw within its cell.
    #[inline(always)]
    pub(super) fn rest(&self, draw: u32) -> u32 {
        position(draw) & self.rest_mask()
    }

    /// What is subtracted from the upper bits of a position to give its cell: the first cell is number 0.
    fn base(&self) -> u32 {
        ((127 + 31 - OCTAVES) << self.bits) - 1
    }

    fn rest_mask(&self) -> u32 {
        (1 << (23 - self.bits)) - 1
    }
}

/// Number of the highest bit of a draw (31 bits, the lowest [`UNUSED`] left out) plus 127, then the 23 bits after it.
#[inline(always)]
fn position(draw: u32) -> u32 {
    let draw = draw >> UNUSED << UNUSED;
    match draw.leading_zeros() {
        32 => 0,
        zeros => (158 - zeros) << 23 | (draw << zeros) >> 8 & 0x7f_ffff,
    }
}

/// Where a projected value is among ascending cuts: class c has c cuts below it.
#[derive(Debug, Clone)]
pub(crate) struct Cuts {
    /// `x > cut` reaches the next class.
    cuts: Vec<i16>,
    /// The greatest absolute value that has a place of its own; those beyond it are in its class.
    bound: i16,
    /// The class of every value up to the bound, in order.
    classes: Vec<u8>,
    /// The same in a few instructions, where it can be.
    reciprocal: Option<Reciprocal>,
}

/// `class(x) = (x + offset) * factor >> 16` in 16 unsigned bits, for every single value.
#[derive(Debug, Clone, Copy)]
struct Reciprocal {
    offset: i16,
    factor: u16,
    /// Values are brought between these first: the last value of the first class, the first one of the last.
    ends: Option<(i16, i16)>,
}

impl Reciprocal {
    fn class(&self, x: i16) -> u32 {
        let x = self.ends.map_or(x, |(low, high)| x.clamp(low, high));
        (u32::from(x.wrapping_add(self.offset) as u16) * u32::from(self.factor)) >> 16
    }
}

impl Cuts {
    /// The classes that `same(a, b)` makes of the values up to `bound`, cut off at 16 bits; `None` if they are more than
    /// `most`, or do not end there. What is the same at both ends of a run of values must be the same between them.
    pub(crate) fn new(bound: i64, most: usize, same: impl Fn(i64, i64) -> bool) -> Option<Self> {
        let narrow = bound.min(i16::MAX.into()) as i16;
        if !same(narrow.into(), bound) || !same((-narrow).into(), -bound) {
            return None;
        }
        let cuts: Vec<i16> = (-narrow..narrow).filter(|&x| !same(x.into(), i64::from(x) + 1)).take(most).collect();
        if cuts.len() == most {
            return None;
        }
        let classes = (-narrow..=narrow).map(|x| cuts.partition_point(|&cut| cut < x) as u8).collect();
        let mut found = Self { cuts, bound: narrow, classes, reciprocal: None };
        found.reciprocal = found.find_reciprocal();
        Some(found)
    }

    /// One value of every class, in order.
    pub(crate) fn members(&self) -> impl Iterator<Item = i16> + '_ {
        std::iter::once(-self.bound).chain(self.cuts.iter().map(|cut| cut + 1))
    }

    /// The class of a value. A lane without a row may hold one beyond the bound.
    #[inline(always)]
    pub(crate) fn class(&self, x: i16) -> usize {
        let at = i32::from(x.clamp(-self.bound, self.bound)) + i32::from(self.bound);
        usize::from(self.classes[at as usize])
    }

    /// A reciprocal for evenly spaced cuts, up to rounding: those around the likely one, tried on every value. The first
    /// and the last class may be wider than the others.
    fn find_reciprocal(&self) -> Option<Reciprocal> {
        let [first, .., last] = self.cuts[..] else { return None };
        let ends = (first, last.checked_add(1)?);
        let (first, steps) = (i32::from(first), self.cuts.len() as i32 - 1);
        let width = i32::from(last) - first;
        let likely = (width / steps - 1 - first, (steps << 16) / width); // the value after the first cut becomes a step
        let tries = (-1..=1).flat_map(|o| (-1..=2).map(move |f| (likely.0 + o, likely.1 + f)));
        let tries = tries.filter_map(|(o, f)| Some((o as i16, u16::try_from(f).ok()?))); // sums wrap
        // Where values reach 16 bits, the one that has no opposite is theirs too.
        let beyond = if self.bound == i16::MAX { i16::MIN } else { self.bound };
        let holds = |it: &Reciprocal| {
            let values = (-self.bound..=self.bound).chain([beyond]);
            values.into_iter().all(|x| it.class(x) as usize == self.class(x))
        };
        let with = |ends| tries.clone().map(move |(offset, factor)| Reciprocal { offset, factor, ends }).find(holds);
        with(None).or_else(|| with(Some(ends)))
    }
}

/// 16-bit prefixes of thresholds, one for each of N classes.
#[derive(Debug, Clone)]
pub(crate) struct Prefixes<const N: usize = CLASSES> {
    /// By class; 0 where there is none.
    words: [u16; N],
    /// High and low bytes of the words.
    bytes: [[u8; N]; 2],
}

impl<const N: usize> Prefixes<N> {
    pub(super) fn new(prefixes: impl Iterator<Item = u16>) -> Self {
        let mut words = [0; N];
        words.iter_mut().zip(prefixes).for_each(|(word, prefix)| *word = prefix);
        Self { words, bytes: [0, 1].map(|at| words.map(|word| word.to_be_bytes()[at])) }
    }
}

kernel! {
    /// One bit per value: 1 in classes from `plus_from` on, flipped if the random word is below the class's threshold.
    /// Eight outputs (of `LANES` values each) share a byte, the first most significant. Draws that tie
    /// are listed.
    ///
    /// The 16 random bits of value i of an output are bytes i (high) and `LANES` + i (low) of its `2 LANES` bytes.
    flip(
        x: &[i16], cuts: &Cuts, thresholds: &Prefixes<FLIP_CLASSES>, plus_from: usize, random: &[u8], bits: &mut [u8],
        ties: &mut Vec<u32>,
    )
}
kernel! {
    /// One symbol per value: how many of its class's borders the random word has reached. Random bits as for [`flip`].
    /// Draws that tie are listed.
    symbols(
        x: &[i16], cuts: &Cuts, borders: &[Prefixes], random: &[u8], out: &mut [u8], ties: &mut Vec<u32>,
    )
}
kernel! {
    /// Signed magnitudes by a guide: bit 31 of a random little-endian word is the sign, the others are a draw that chooses
    /// the cell and is compared with its threshold. Draws that tie or fall into a crowded cell are listed.
    guided(guide: &Guide, random: &[u8], out: &mut [i16], ties: &mut Vec<u32>)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels that end early, as real laws do: evenly spaced cuts around zero and two wide classes at the ends. All values
    /// go by a reciprocal, whose answers the constructor has compared one by one. (16 bits of it are too few for wider steps.)
    #[test]
    fn even_cuts_have_a_reciprocal_however_far_values_reach() {
        let steps = [(255, 4), (255, 12), (256, 11), (1, 3), (20, 15), (7, 1), (2048, 15)];
        // Their last level ends where 16 bits do.
        let widest = [(4096, 8), (8192, 4), (16_384, 2)];
        for (step, levels) in steps.into_iter().chain(widest) {
            for bound in [step * levels, step * levels + 1, 5 * step * levels, 32_767, 62_720] {
                let level =
                    |x: i64| if x > 0 { ((x - 1) / step).min(levels - 1) + 1 } else { -(-x / step).min(levels - 1) };
                let cuts = Cuts::new(bound, FLIP_CLASSES, |a, b| level(a) == level(b)).unwrap();
                let narrow = cuts.cuts.len() < 2 || widest.contains(&(step, levels));
                assert!(narrow || cuts.reciprocal.is_some(), "{step} {levels} {bound}: {:?}", cuts.cuts);
                let bound = bound.min(i16::MAX.into()) as i16;
                for x in (-bound..=bound).chain((bound == i16::MAX).then_some(i16::MIN)) {
                    let found = cuts.reciprocal.map_or(cuts.class(x), |it| it.class(x) as usize);
                    assert_eq!(found, cuts.class(x), "{step} {levels} {bound}: {x}");
                }
            }
        }
        let uneven =
            Cuts::new(1000, FLIP_CLASSES, |a, b| [0, 1, 100].map(|cut| a > cut) == [0, 1, 100].map(|cut| b > cut));
        assert!(uneven.unwrap().reciprocal.is_none());
    }
}
