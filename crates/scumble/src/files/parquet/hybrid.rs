//! Runs of small numbers: the encoding of levels, of places in a dictionary and of booleans.
//!
//! A run is one number repeated, or groups of eight packed into bits. Levels are checked run by run: a million equal
//! levels cost as much as one.

use super::thrift::{CUT_SHORT, Damaged, Result};
use std::ops::Range;

/// The current run.
#[derive(Debug, Clone, Copy)]
enum Run {
    Repeated(u32),
    /// Packed from this bit of the bytes on.
    Packed(usize),
}

/// The position of a decoder in its bytes, which it does not hold.
#[derive(Debug, Clone)]
pub(super) struct Hybrid {
    width: usize,
    at: usize,
    run: Run,
    left: usize,
}

impl Hybrid {
    /// Numbers of `width` bits, the first run at byte `at`.
    pub(super) fn new(width: u32, at: usize) -> Result<Self> {
        if width > 32 {
            return Err(Damaged("packed numbers have more than 32 bits"));
        }
        Ok(Self { width: width as usize, at, run: Run::Repeated(0), left: 0 })
    }

    /// Opens the next run when the current one is used up.
    #[inline]
    fn refill(&mut self, bytes: &[u8]) -> Result<()> {
        while self.left == 0 {
            let mut header = 0u64;
            for shift in (0..).step_by(7) {
                let byte = *bytes.get(self.at).ok_or(CUT_SHORT)?;
                self.at += 1;
                header |= u64::from(byte & 0x7F) << shift;
                if byte < 0x80 {
                    break;
                }
                if shift > 28 {
                    return Err(Damaged("a run is too long"));
                }
            }
            let count = (header >> 1) as usize;
            if header & 1 == 1 {
                let held = bytes.len().saturating_sub(self.at);
                // Some writers leave out the padding of the last group.
                let packed = (count * self.width).min(held);
                self.run = Run::Packed(8 * self.at);
                self.left = (8 * packed).checked_div(self.width).unwrap_or(8 * count);
                self.at += packed;
                if self.left == 0 {
                    return Err(CUT_SHORT);
                }
            } else {
                let size = self.width.div_ceil(8);
                let value = bytes.get(self.at..self.at + size).ok_or(CUT_SHORT)?;
                self.run = Run::Repeated(value.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)));
                self.left = count;
                self.at += size;
            }
        }
        Ok(())
    }

    /// Takes at most `most` numbers of the current run, and says what they are.
    #[inline]
    fn take(&mut self, bytes: &[u8], most: usize) -> Result<(Run, usize)> {
        self.refill(bytes)?;
        let (run, count) = (self.run, self.left.min(most));
        self.left -= count;
        if let Run::Packed(bit) = &mut self.run {
            *bit += count * self.width;
        }
        Ok((run, count))
    }

    pub(super) fn skip(&mut self, bytes: &[u8], mut count: usize) -> Result<()> {
        while count > 0 {
            count -= self.take(bytes, count)?.1;
        }
        Ok(())
    }

    /// The next numbers.
    pub(super) fn fill(&mut self, bytes: &[u8], mut out: &mut [u32]) -> Result<()> {
        while !out.is_empty() {
            let (run, count) = self.take(bytes, out.len())?;
            let (now, rest) = out.split_at_mut(count);
            match run {
                Run::Repeated(value) => now.fill(value),
                Run::Packed(bit) => unpack(bytes, bit, self.width, now),
            }
            out = rest;
        }
        Ok(())
    }

    /// The place of the first of `count` numbers that is not `value`.
    pub(super) fn first_other(mut self, bytes: &[u8], count: usize, value: u32) -> Result<Option<usize>> {
        let mut done = 0;
        while done < count {
            let (run, length) = self.take(bytes, count - done)?;
            let found = match run {
                Run::Repeated(other) => (other != value).then_some(0),
                Run::Packed(bit) => first_other_packed(bytes, bit, self.width, length, value),
            };
            if let Some(at) = found {
                return Ok(Some(done + at));
            }
            done += length;
        }
        Ok(None)
    }

    /// The place of the first of `count` one-bit numbers that breaks the pattern of lists of `length` elements: 0 where a
    /// list begins, else 1. `offset` elements of the first list came before.
    pub(super) fn first_irregular(
        mut self,
        bytes: &[u8],
        count: usize,
        offset: usize,
        length: usize,
    ) -> Result<Option<usize>> {
        let mut done = 0;
        // Places until the next list begins.
        let mut next = (length - offset % length) % length;
        while done < count {
            let (run, held) = self.take(bytes, count - done)?;
            let found = match run {
                Run::Repeated(1) => (next < held).then_some(next),
                Run::Repeated(0) if next > 0 => Some(0),
                Run::Repeated(0) => (held > 1 && length > 1).then_some(1),
                Run::Repeated(_) => Some(0),
                Run::Packed(bit) => first_irregular_packed(bytes, bit, held, next, length),
            };
            if let Some(at) = found {
                return Ok(Some(done + at));
            }
            done += held;
            next = (length - (offset + done) % length) % length;
        }
        Ok(None)
    }
}

/// Bits that a number of at most `most` takes.
pub(super) fn bits(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Numbers of `width` bits from `bit` on.
fn unpack(bytes: &[u8], bit: usize, width: usize, out: &mut [u32]) {
    if width == 0 {
        return out.fill(0);
    }
    let mask = u64::MAX >> (64 - width);
    let number = |i: usize| {
        let at = bit + i * width;
        let mut word = [0; 8];
        let held = &bytes[at / 8..];
        match held.first_chunk::<8>() {
            Some(whole) => word = *whole,
            None => word[..held.len()].copy_from_slice(held),
        }
        (u64::from_le_bytes(word) >> (at % 8) & mask) as u32
    };
    match width {
        8 if bit.is_multiple_of(8) => {
            out.iter_mut().zip(&bytes[bit / 8..]).for_each(|(out, byte)| *out = u32::from(*byte))
        }
        16 if bit.is_multiple_of(8) => out
            .iter_mut()
            .zip(bytes[bit / 8..].chunks_exact(2))
            .for_each(|(out, pair)| *out = u32::from(u16::from_le_bytes([pair[0], pair[1]]))),
        _ => out.iter_mut().enumerate().for_each(|(i, out)| *out = number(i)),
    }
}

fn first_other_packed(bytes: &[u8], bit: usize, width: usize, count: usize, value: u32) -> Option<usize> {
    let mut start = 0;
    if bit.is_multiple_of(8) && width > 0 && 8 % width == 0 {
        // Whole bytes repeat one pattern.
        let pattern = (0..8 / width).fold(0u32, |all, i| all | value << (i * width)) as u8;
        let whole = &bytes[bit / 8..(bit + count * width) / 8];
        start = whole.iter().position(|byte| *byte != pattern).unwrap_or(whole.len()) * 8 / width;
    }
    let mut number = [0];
    (start..count).find(|i| {
        unpack(bytes, bit + i * width, width, &mut number);
        number[0] != value
    })
}

fn first_irregular_packed(bytes: &[u8], bit: usize, count: usize, mut next: usize, length: usize) -> Option<usize> {
    let is_set = |i: usize| bytes[(bit + i) / 8] >> ((bit + i) % 8) & 1 == 1;
    let mut at = 0;
    while at < count {
        let ones = at..next.min(count);
        if let Some(gap) = first_zero(bytes, bit, ones) {
            return Some(gap);
        }
        if next >= count {
            return None;
        }
        if is_set(next) {
            return Some(next);
        }
        (at, next) = (next + 1, next + length);
    }
    None
}

/// The first bit of a range that is not set.
fn first_zero(bytes: &[u8], bit: usize, range: Range<usize>) -> Option<usize> {
    let is_zero = |at: usize| bytes[at / 8] >> (at % 8) & 1 == 0;
    let (start, end) = (bit + range.start, bit + range.end);
    let (whole, last) = (start.next_multiple_of(8).min(end), (end / 8 * 8).max(start.next_multiple_of(8).min(end)));
    let middle = || bytes[whole / 8..last / 8].iter().position(|byte| *byte != 0xFF).map(|byte| whole + 8 * byte);
    let found = (start..whole).find(|at| is_zero(*at));
    let found = found.or_else(|| middle().and_then(|at| (at..at + 8).find(|at| is_zero(*at))));
    found.or_else(|| (last..end).find(|at| is_zero(*at))).map(|at| at - bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs numbers; alternates with repeated runs where eight are equal and `runs` says so.
    fn encode(numbers: &[u32], width: usize, runs: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for eight in numbers.chunks(8) {
            if runs && eight.iter().all(|x| *x == eight[0]) {
                out.push((eight.len() << 1) as u8);
                out.extend(&eight[0].to_le_bytes()[..width.div_ceil(8)]);
                continue;
            }
            out.push(3);
            let packed = eight.iter().rev().fold(0u128, |all, x| all << width | u128::from(*x));
            let start = out.len();
            let mut packed = packed << (width * (8 - eight.len())) >> (width * (8 - eight.len()));
            for _ in 0..width {
                out.push(packed as u8);
                packed >>= 8;
            }
            assert_eq!(out.len(), start + width);
        }
        out
    }

    #[test]
    fn every_width_in_runs_and_in_groups() {
        for width in 0..=16u32 {
            let mask = (1u64 << width) as u32 - 1;
            let numbers: Vec<u32> = (0..1000u32)
                .map(|i| if i / 64 % 2 == 0 { 5 & mask } else { i.wrapping_mul(2_654_435_761) & mask })
                .collect();
            for runs in [false, true] {
                let bytes = encode(&numbers, width as usize, runs);
                for start in [0, 1, 7, 8, 63, 500, 999] {
                    let mut hybrid = Hybrid::new(width, 0).unwrap();
                    hybrid.skip(&bytes, start).unwrap();
                    let mut out = vec![9; 1000 - start];
                    let (a, b) = out.split_at_mut((1000 - start) / 3);
                    hybrid.fill(&bytes, a).unwrap();
                    hybrid.fill(&bytes, b).unwrap();
                    assert_eq!(out, numbers[start..], "width {width}");
                }
                assert!(Hybrid::new(width, 0).unwrap().fill(&bytes, &mut [0; 1001]).is_err());
            }
        }
    }

    #[test]
    fn the_first_deviation_of_every_kind_is_found() {
        for (width, value) in [(1, 1), (2, 3), (2, 2), (3, 5), (1, 0)] {
            for runs in [false, true] {
                let mut levels = vec![value; 203];
                let find = |levels: &[u32]| {
                    Hybrid::new(width, 0).unwrap().first_other(&encode(levels, width as usize, runs), 203, value)
                };
                assert_eq!(find(&levels), Ok(None));
                for at in 0..203 {
                    levels[at] = value ^ 1;
                    assert_eq!(find(&levels), Ok(Some(at)), "width {width}");
                    levels[at] = value;
                }
            }
        }
        for length in [1, 2, 3, 7, 8, 9, 16, 100, 500] {
            for offset in [0, 1, 5, length - 1, length] {
                for runs in [false, true] {
                    let mut levels: Vec<u32> = (0..203).map(|i| u32::from((i + offset) % length != 0)).collect();
                    let find = |levels: &[u32]| {
                        Hybrid::new(1, 0).unwrap().first_irregular(&encode(levels, 1, runs), 203, offset, length)
                    };
                    assert_eq!(find(&levels), Ok(None), "{length} from {offset}");
                    for at in 0..203 {
                        levels[at] ^= 1;
                        assert_eq!(find(&levels), Ok(Some(at)), "{length} from {offset}");
                        levels[at] ^= 1;
                    }
                }
            }
        }
    }

    #[test]
    fn damaged_runs_are_errors() {
        let mut out = [0; 100];
        for bytes in [&[][..], &[0x80; 20], &[0, 0, 0], &[3], &[6], &[0xFF; 9]] {
            assert!(Hybrid::new(8, 0).unwrap().fill(bytes, &mut out).is_err(), "{bytes:?}");
        }
        assert!(Hybrid::new(33, 0).is_err());
    }
}
