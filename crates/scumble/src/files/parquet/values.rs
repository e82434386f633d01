//! Values of a page as plain little-endian bytes, whatever their encoding.

use super::hybrid::Hybrid;
use super::thrift::{CUT_SHORT, Damaged, Result};
use std::ops::Range;

/// Most bytes that a page may take when it is decoded whole.
pub(super) const PAGE_LIMIT: usize = 256 << 20;

/// How the values of a page are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Dictionary,
    Runs,
    DeltaNumbers,
    DeltaLengths,
    DeltaTexts,
    SplitBytes,
}

impl Encoding {
    pub(super) fn new(code: i64) -> Result<Self> {
        Ok(match code {
            0 => Self::Plain,
            2 | 8 => Self::Dictionary,
            3 => Self::Runs,
            5 => Self::DeltaNumbers,
            6 => Self::DeltaLengths,
            7 => Self::DeltaTexts,
            9 => Self::SplitBytes,
            _ => return Err(Damaged("values have an unknown encoding")),
        })
    }
}

/// Values `range` out of the `count` of a page, `width` bytes each, into `out`. `dictionary` holds the distinct values.
pub(super) fn fixed(
    encoding: Encoding,
    bytes: &[u8],
    count: usize,
    width: usize,
    range: Range<usize>,
    dictionary: Option<&[u8]>,
    out: &mut [u8],
) -> Result<()> {
    match encoding {
        Encoding::Plain => {
            out.copy_from_slice(bytes.get(range.start * width..range.end * width).ok_or(CUT_SHORT)?);
            Ok(())
        }
        Encoding::SplitBytes => {
            let bytes = bytes.get(..count.checked_mul(width).ok_or(CUT_SHORT)?).ok_or(CUT_SHORT)?;
            join(bytes, count, width, range, out);
            Ok(())
        }
        Encoding::Dictionary => {
            let dictionary = dictionary.ok_or(Damaged("a dictionary is missing"))?;
            let mut places = places(bytes)?;
            places.skip(bytes, range.start)?;
            look_up(&mut places, bytes, dictionary, width, out)
        }
        Encoding::Runs | Encoding::DeltaNumbers | Encoding::DeltaLengths | Encoding::DeltaTexts => {
            Err(Damaged("values have an encoding that does not fit their type"))
        }
    }
}

/// Places in a dictionary: a byte with their width, then runs.
pub(super) fn places(bytes: &[u8]) -> Result<Hybrid> {
    Hybrid::new((*bytes.first().ok_or(CUT_SHORT)?).into(), 1)
}

/// Takes values from a dictionary, block by block so that the places stay in the nearest cache.
fn look_up(places: &mut Hybrid, bytes: &[u8], dictionary: &[u8], width: usize, out: &mut [u8]) -> Result<()> {
    const OUTSIDE: Damaged = Damaged("a value is not in the dictionary");
    const BLOCK: usize = 1024;
    let entries = dictionary.len() / width;
    let mut block = [0; BLOCK];
    for out in out.chunks_mut(BLOCK * width) {
        let block = &mut block[..out.len() / width];
        places.fill(bytes, block)?;
        if block.iter().copied().max().is_some_and(|most| most as usize >= entries) {
            return Err(OUTSIDE);
        }
        match width {
            4 => gather::<4>(block, dictionary, out),
            8 => gather::<8>(block, dictionary, out),
            _ => {
                for (place, out) in block.iter().zip(out.chunks_exact_mut(width)) {
                    out.copy_from_slice(&dictionary[*place as usize * width..][..width]);
                }
            }
        }
    }
    Ok(())
}

fn gather<const W: usize>(places: &[u32], dictionary: &[u8], out: &mut [u8]) {
    let (entries, _) = dictionary.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for (place, out) in places.iter().zip(out) {
        *out = entries[*place as usize];
    }
}

/// Puts the bytes of each value together again: the first bytes of all values come first, then the second ones, and so on.
fn join(bytes: &[u8], count: usize, width: usize, range: Range<usize>, out: &mut [u8]) {
    let stream = |byte: usize| &bytes[byte * count..][range.clone()];
    match width {
        2 => join_each::<2>(std::array::from_fn(stream), out),
        4 => join_each::<4>(std::array::from_fn(stream), out),
        8 => join_each::<8>(std::array::from_fn(stream), out),
        _ => {
            for byte in 0..width {
                for (value, from) in out.chunks_exact_mut(width).zip(stream(byte)) {
                    value[byte] = *from;
                }
            }
        }
    }
}

fn join_each<const W: usize>(streams: [&[u8]; W], out: &mut [u8]) {
    let (out, _) = out.as_chunks_mut::<W>();
    let streams = streams.map(|stream| &stream[..out.len()]);
    for (i, value) in out.iter_mut().enumerate() {
        *value = streams.map(|stream| stream[i]);
    }
}

/// Differences, packed in blocks: `count` whole numbers, and the bytes that follow them.
pub(super) fn deltas(bytes: &[u8], count: usize) -> Result<(Vec<i64>, &[u8])> {
    const BAD: Damaged = Damaged("differences are packed wrongly");
    let mut at = 0;
    let varint = |at: &mut usize| -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *bytes.get(*at).ok_or(CUT_SHORT)?;
            *at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(BAD)
    };
    let zigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
    let (block, parts, total) = (varint(&mut at)? as usize, varint(&mut at)? as usize, varint(&mut at)? as usize);
    let mut value = zigzag(varint(&mut at)?);
    if total != count || !(1..=1 << 16).contains(&block) || !(1..=block).contains(&parts) || block % parts != 0 {
        return Err(BAD);
    }
    if count > PAGE_LIMIT / 8 {
        return Err(Damaged("a page is too large; write smaller ones"));
    }
    let part = block / parts;
    if !part.is_multiple_of(8) {
        return Err(BAD);
    }
    let mut values = Vec::new();
    if count > 0 {
        values.push(value);
    }
    while values.len() < count {
        let least = zigzag(varint(&mut at)?);
        let widths = bytes.get(at..at + parts).ok_or(CUT_SHORT)?;
        at += parts;
        for width in widths {
            if values.len() == count {
                break;
            }
            let width = usize::from(*width);
            if width > 64 {
                return Err(BAD);
            }
            let wanted = part.min(count - values.len());
            let packed = bytes.get(at..).ok_or(CUT_SHORT)?;
            let packed = &packed[..packed.len().min(part * width / 8)];
            if packed.len() < (wanted * width).div_ceil(8) {
                return Err(CUT_SHORT);
            }
            for i in 0..wanted {
                value = value.wrapping_add(least).wrapping_add(wide(packed, i * width, width) as i64);
                values.push(value);
            }
            at += packed.len();
        }
    }
    Ok((values, &bytes[at..]))
}

/// A number of up to 64 bits that begins at a bit.
fn wide(bytes: &[u8], bit: usize, width: usize) -> u64 {
    if width == 0 {
        return 0;
    }
    let mut word = [0; 16];
    let held = &bytes[bit / 8..];
    let held = &held[..held.len().min(9)];
    word[..held.len()].copy_from_slice(held);
    (u128::from_le_bytes(word) >> (bit % 8)) as u64 & u64::MAX >> (64 - width)
}

/// Texts one after another, and where each of them ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<usize>,
}

impl Texts {
    pub(super) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    fn push(&mut self, parts: [&[u8]; 2]) -> Result<()> {
        if self.bytes.len() + parts[0].len() + parts[1].len() > PAGE_LIMIT {
            return Err(Damaged("a page is too large; write smaller ones"));
        }
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Each after its length in 4 bytes.
    pub(super) fn plain(mut bytes: &[u8], count: usize) -> Result<Self> {
        let mut texts = Self::default();
        for _ in 0..count {
            let (length, rest) = bytes.split_first_chunk::<4>().ok_or(CUT_SHORT)?;
            let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(CUT_SHORT)?;
            texts.push([text, &[]])?;
            bytes = rest;
        }
        Ok(texts)
    }

    /// All lengths, then all bytes.
    pub(super) fn delta_lengths(bytes: &[u8], count: usize) -> Result<Self> {
        let (lengths, mut rest) = deltas(bytes, count)?;
        let mut texts = Self::default();
        for length in lengths {
            let length = usize::try_from(length).map_err(|_| CUT_SHORT)?;
            let (text, after) = rest.split_at_checked(length).ok_or(CUT_SHORT)?;
            texts.push([text, &[]])?;
            rest = after;
        }
        Ok(texts)
    }

    /// What each text shares with the one before it, then what follows.
    pub(super) fn delta_texts(bytes: &[u8], count: usize) -> Result<Self> {
        let (shared, rest) = deltas(bytes, count)?;
        let suffixes = Self::delta_lengths(rest, count)?;
        let mut texts = Self::default();
        let mut before = Vec::new();
        for (i, shared) in shared.into_iter().enumerate() {
            let shared = usize::try_from(shared).ok().filter(|shared| *shared <= before.len()).ok_or(CUT_SHORT)?;
            before.truncate(shared);
            texts.push([&before, suffixes.get(i)])?;
            before.extend_from_slice(suffixes.get(i));
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_split_bytes_are_the_same_values() {
        for width in [1, 2, 3, 4, 8, 12] {
            let count = 37;
            let plain: Vec<u8> = (0..count * width).map(|at| (at * 7) as u8).collect();
            let split: Vec<u8> =
                (0..width).flat_map(|b| (0..count).map(move |i| ((i * width + b) * 7) as u8)).collect();
            for range in [0..count, 5..6, 3..3, 30..37] {
                let mut outs = [vec![0; range.len() * width], vec![1; range.len() * width]];
                fixed(Encoding::Plain, &plain, count, width, range.clone(), None, &mut outs[0]).unwrap();
                fixed(Encoding::SplitBytes, &split, count, width, range.clone(), None, &mut outs[1]).unwrap();
                assert_eq!(outs[0], plain[range.start * width..range.end * width]);
                assert_eq!(outs[0], outs[1]);
            }
            let mut out = vec![0; count * width];
            assert!(fixed(Encoding::SplitBytes, &split[1..], count, width, 0..count, None, &mut out).is_err());
            assert!(fixed(Encoding::Plain, &plain[1..], count, width, 0..count, None, &mut out).is_err());
        }
    }

    #[test]
    fn a_place_outside_the_dictionary_is_an_error() {
        let bytes = [2, 20, 1, 20, 3]; // ten times entry 1, ten times entry 3
        let dictionary: Vec<u8> = (0..16).collect();
        let mut out = [0; 80];
        fixed(Encoding::Dictionary, &bytes, 20, 4, 0..20, Some(&dictionary), &mut out).unwrap();
        assert_eq!((out[0], out[79]), (4, 15));
        assert!(fixed(Encoding::Dictionary, &bytes, 20, 4, 0..20, Some(&dictionary[..12]), &mut out).is_err());
        fixed(Encoding::Dictionary, &bytes, 20, 4, 0..10, Some(&dictionary[..12]), &mut out[..40]).unwrap();
        assert!(fixed(Encoding::Dictionary, &bytes, 20, 4, 0..20, None, &mut out).is_err());
    }

    #[test]
    fn differences_as_in_the_specification() {
        // 1, 2, 3, 4, 5: block 128, 4 parts, 5 values, first 1 (zigzag 2), least difference 1 (zigzag 2), widths 0.
        let bytes = [128, 1, 4, 5, 2, 2, 0, 0, 0, 0, 77];
        assert_eq!(deltas(&bytes, 5), Ok((vec![1, 2, 3, 4, 5], &[77][..])));
        // 7, 5, 3, 1, 2, 3, 4, 5: least difference -2, 2 bits: 0 0 0 3 3 3 3 of a part of 32.
        let mut bytes = vec![128, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        bytes.extend([0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
        assert_eq!(deltas(&bytes, 8), Ok((vec![7, 5, 3, 1, 2, 3, 4, 5], &[][..])));
        for cut in 0..11 {
            assert!(deltas(&bytes[..cut], 8).is_err());
        }
        assert!(deltas(&bytes, 9).is_err());
    }
}
