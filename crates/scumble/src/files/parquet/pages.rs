//! The pages of a column chunk: found one after another by their headers, read and decompressed when they are needed.

use super::Opened;
use super::codec::Codec;
use super::footer::{Chunk, Leaf};
use super::hybrid::{Hybrid, bits};
use super::thrift::{CUT_SHORT, Damaged, Input, Kind, Result};
use super::values::{self, Encoding, PAGE_LIMIT, Texts};
use crate::files::error::ReadErrorKind;
use crate::files::input::{Lent, Pool};
use std::io::{self, BufReader};
use std::ops::Range;
use std::sync::Arc;

/// The outcome of reading a file.
pub(super) type Read<T> = std::result::Result<T, ReadErrorKind>;

impl From<Damaged> for ReadErrorKind {
    fn from(Damaged(what): Damaged) -> Self {
        Self::Corrupt(what.to_owned())
    }
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Values, with levels before them that know their own lengths.
    Values,
    /// Values, with levels of these lengths before them that are never compressed.
    Values2 { repetition: usize, definition: usize, packed: bool },
    /// The distinct values of the chunk.
    Dictionary,
    /// Nothing that we need.
    Other,
}

/// A page in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) holds: Holds,
    /// Number of values, missing ones included.
    pub(super) count: usize,
    pub(super) encoding: Encoding,
    /// Codes of the encodings of definition and repetition levels.
    levels: [i64; 2],
    /// Where its bytes begin.
    at: u64,
    /// Bytes in the file.
    packed: usize,
    /// Bytes when they are decompressed.
    plain: usize,
    crc: Option<u32>,
}

/// Header bytes that are read at first. Statistics of long values make headers longer.
const HEADER_BYTES: usize = 256;
const LONGEST_HEADER: usize = 16 << 20;

/// The code of the encoding that levels have.
const RUNS: i64 = 3;

impl Stored {
    /// Parses a header; gives its length too.
    fn parse(bytes: &[u8], start: u64) -> Result<(Self, usize)> {
        let (mut kind, mut packed, mut plain, mut crc) = (0, 0, 0, None);
        let (mut count, mut encoding) = (0, 0);
        let (mut repetition, mut definition, mut is_packed) = (0, 0, true);
        let mut levels = [RUNS; 2];
        let mut input = Input::new(bytes);
        input.fields(|input, id, field| {
            match id {
                1 => kind = input.integer(field)?,
                2 => plain = input.size(field)?,
                3 => packed = input.size(field)?,
                4 => crc = Some(input.integer(field)? as u32),
                5 | 7 | 8 if field == Kind::Struct => input.fields(|input, inner, field| {
                    match (id, inner) {
                        (_, 1) => count = input.size(field)?,
                        (5 | 7, 2) | (8, 4) => encoding = input.integer(field)?,
                        (5, 3 | 4) => levels[inner as usize - 3] = input.integer(field)?,
                        (8, 5) => definition = input.size(field)?,
                        (8, 6) => repetition = input.size(field)?,
                        (8, 7) => is_packed = input.boolean(field)?,
                        _ => input.skip(field)?,
                    }
                    Ok(())
                })?,
                _ => input.skip(field)?,
            }
            Ok(())
        })?;
        let length = bytes.len() - input.left();
        let size =
            |size: u64| i32::try_from(size).map(|size| size as usize).map_err(|_| Damaged("a page is too large"));
        let holds = match kind {
            0 => Holds::Values,
            2 => Holds::Dictionary,
            3 => Holds::Values2 { repetition: size(repetition)?, definition: size(definition)?, packed: is_packed },
            _ => Holds::Other,
        };
        let encoding = if holds == Holds::Other { Encoding::Plain } else { Encoding::new(encoding)? };
        let at = start + length as u64;
        let (count, packed, plain) = (size(count)?, size(packed)?, size(plain)?);
        Ok((Self { holds, count, encoding, levels, at, packed, plain, crc }, length))
    }
}

/// A column chunk, ready to be read.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) file: Arc<Opened>,
    pub(super) leaf: Leaf,
    pub(super) chunk: Chunk,
    codec: Codec,
    pool: Pool,
}

impl Column {
    pub(super) fn new(file: &Arc<Opened>, leaf: Leaf, group: usize, pool: &Pool) -> Read<Self> {
        let chunk = file.footer.groups[group].chunks[leaf.chunk];
        let end = chunk.start.checked_add(chunk.length);
        if end.is_none_or(|end| end > file.size) {
            return Err(Damaged("a column reaches beyond the end of the file").into());
        }
        Ok(Self { file: file.clone(), leaf, chunk, codec: Codec::new(chunk.codec)?, pool: pool.clone() })
    }

    /// The pages from the first on.
    pub(super) fn walk(&self) -> Walk {
        // Some old writers left the dictionary's header out of the length.
        const SLACK: u64 = 100;
        let end = (self.chunk.start + self.chunk.length).saturating_add(SLACK).min(self.file.size);
        Walk { at: self.chunk.start, end, left: self.chunk.values }
    }
}

/// Walks from page to page by reading their headers alone.
#[derive(Debug)]
pub(super) struct Walk {
    at: u64,
    end: u64,
    left: u64,
}

impl Walk {
    /// The next page with values or a dictionary; `None` when all values of the chunk have been seen, or its bytes end.
    pub(super) fn next(&mut self, file: &Opened) -> Read<Option<Stored>> {
        while self.left > 0 && self.at < self.end {
            let mut bytes = vec![0; HEADER_BYTES];
            let (page, length) = loop {
                let held = bytes.len().min((self.end - self.at) as usize);
                bytes.truncate(held);
                file.read(self.at, &mut bytes)?;
                match Stored::parse(&bytes, self.at) {
                    Err(CUT_SHORT) if held < LONGEST_HEADER && (held as u64) < self.end - self.at => {
                        bytes.resize(8 * held, 0);
                    }
                    parsed => break parsed?,
                }
            };
            self.at += (length + page.packed) as u64;
            if self.at > self.end {
                return Err(Damaged("a page reaches beyond its column").into());
            }
            match page.holds {
                Holds::Dictionary => return Ok(Some(page)),
                Holds::Values | Holds::Values2 { .. } if page.count > 0 => {
                    let left = self.left.checked_sub(page.count as u64);
                    self.left = left.ok_or(Damaged("a column has more values than it states"))?;
                    return Ok(Some(page));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Compressed bytes above which a page is decompressed from the file rather than from memory.
const LARGE: usize = 16 << 20;

/// A part of a file as a stream.
struct FileRange<'a> {
    file: &'a Opened,
    at: u64,
    left: usize,
}

impl io::Read for FileRange<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let now = self.left.min(out.len());
        self.file.read(self.at, &mut out[..now]).map_err(io::Error::other)?;
        (self.at, self.left) = (self.at + now as u64, self.left - now);
        Ok(now)
    }
}

/// The bytes of a page, decompressed: levels, then values, unless these were left in the file.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Lent,
    repetition: Range<usize>,
    definition: Range<usize>,
    values: Place,
    pub(super) encoding: Encoding,
    pub(super) count: usize,
}

/// Where the values of a page are.
#[derive(Debug)]
enum Place {
    /// In its bytes, from here on.
    Held(usize),
    /// In the file, from here on: plain values that nobody needs to touch before they are in place.
    File(u64),
    /// Plain, decoded from differences.
    Decoded(Vec<u8>),
}

impl Column {
    /// Reads a page with values.
    pub(super) fn load(&self, page: &Stored) -> Read<Body> {
        let Stored { count, encoding, .. } = *page;
        if let Some(width) = self.leaf.physical.width().filter(|_| self.can_stay(page)) {
            let bytes = self.read_levels(page)?;
            let (repetition, definition, start) = self.split(page, &bytes)?;
            if (page.packed - start) / width.max(1) < count {
                return Err(CUT_SHORT.into());
            }
            return Ok(Body {
                bytes,
                repetition,
                definition,
                values: Place::File(page.at + start as u64),
                encoding,
                count,
            });
        }
        let bytes = self.read_whole(page)?;
        let (repetition, definition, start) = self.split(page, &bytes)?;
        let mut body = Body { repetition, definition, values: Place::Held(start), encoding, count, bytes };
        body.undo_differences(self.leaf.physical.width())?;
        Ok(body)
    }

    /// The dictionary of the chunk.
    pub(super) fn load_dictionary(&self, page: &Stored) -> Read<Lent> {
        if !matches!(page.encoding, Encoding::Plain | Encoding::Dictionary) {
            return Err(Damaged("a dictionary has an unknown encoding").into());
        }
        self.read_whole(page)
    }

    /// True if plain values can go from the file into their place in one step.
    fn can_stay(&self, page: &Stored) -> bool {
        let packed = match page.holds {
            Holds::Values2 { packed, .. } => packed && self.codec != Codec::None,
            _ => self.codec != Codec::None,
        };
        !packed && page.crc.is_none() && page.encoding == Encoding::Plain
    }

    /// The levels of an uncompressed page.
    fn read_levels(&self, page: &Stored) -> Read<Lent> {
        let mut length = 0;
        match page.holds {
            Holds::Values2 { repetition, definition, .. } => length = repetition + definition,
            _ => {
                for _ in 0..usize::from(self.leaf.repeated) + usize::from(self.leaf.value_level > 0) {
                    let mut size = [0; 4];
                    if length + 4 > page.packed {
                        return Err(CUT_SHORT.into());
                    }
                    self.file.read(page.at + length as u64, &mut size)?;
                    length += 4 + u32::from_le_bytes(size) as usize;
                }
            }
        }
        if length > page.packed {
            return Err(CUT_SHORT.into());
        }
        let mut levels = self.pool.lend(length);
        self.file.read(page.at, &mut levels)?;
        Ok(levels)
    }

    /// All bytes of a page, decompressed.
    fn read_whole(&self, page: &Stored) -> Read<Lent> {
        let largest = page.packed.max(page.plain);
        if largest > PAGE_LIMIT {
            return Err(ReadErrorKind::PageTooLarge { bytes: largest as u64, limit: PAGE_LIMIT as u64 });
        }
        let (levels, codec) = match page.holds {
            Holds::Values2 { repetition, definition, packed } => {
                (repetition + definition, if packed { self.codec } else { Codec::None })
            }
            _ => (0, self.codec),
        };
        let (packed, plain) = (page.packed.checked_sub(levels), page.plain.checked_sub(levels));
        let (packed, plain) = packed.zip(plain).ok_or(CUT_SHORT)?;
        if codec != Codec::None && !codec.can_expand(packed, plain) {
            return Err(Damaged("a page does not decompress").into());
        }
        if packed > LARGE && page.crc.is_none() {
            let mut bytes = self.pool.lend(page.plain);
            let (head, values) = bytes.split_at_mut(levels);
            self.file.read(page.at, head)?;
            let stream = FileRange { file: &self.file, at: page.at + levels as u64, left: packed };
            let stream = BufReader::with_capacity(1 << 16, stream);
            if let Some(done) = codec.decompress_stream(stream, values) {
                done?;
                return Ok(bytes);
            }
        }
        let mut stored = self.pool.lend(page.packed);
        self.file.read(page.at, &mut stored)?;
        if page.crc.is_some_and(|crc| crc32fast::hash(&stored) != crc) {
            return Err(Damaged("a page does not match its checksum").into());
        }
        if codec == Codec::None {
            return Ok(stored);
        }
        let (head, tail) = stored.split_at(levels);
        let mut bytes = self.pool.lend(page.plain);
        bytes[..levels].copy_from_slice(head);
        // An empty page may have nothing in it, not even the beginning of a compressed stream.
        if plain > 0 {
            codec.decompress(tail, &mut bytes[levels..])?;
        }
        Ok(bytes)
    }

    /// Where repetition levels, definition levels and values are.
    fn split(&self, page: &Stored, bytes: &[u8]) -> Result<(Range<usize>, Range<usize>, usize)> {
        if let Holds::Values2 { repetition, definition, .. } = page.holds {
            let end = repetition + definition;
            return if end <= bytes.len() { Ok((0..repetition, repetition..end, end)) } else { Err(CUT_SHORT) };
        }
        let mut at = 0;
        let mut next = |exists: bool, encoding: i64| {
            if !exists {
                return Ok(at..at);
            }
            if encoding != RUNS {
                return Err(Damaged("levels have an encoding that was abandoned long ago; write the file again"));
            }
            let length = bytes.get(at..at + 4).ok_or(CUT_SHORT)?;
            let start = at + 4;
            at = start + u32::from_le_bytes(length.try_into().expect("4 bytes")) as usize;
            if at <= bytes.len() { Ok(start..at) } else { Err(CUT_SHORT) }
        };
        let repetition = next(self.leaf.repeated, page.levels[1])?;
        let definition = next(self.leaf.value_level > 0, page.levels[0])?;
        Ok((repetition, definition, at))
    }
}

impl Body {
    /// Differences can only be decoded from the first on: do it once for all who need a part of them.
    fn undo_differences(&mut self, width: Option<usize>) -> Result<()> {
        let (Place::Held(start), Some(width)) = (&self.values, width) else { return Ok(()) };
        let bytes = self.bytes.get(*start..).ok_or(CUT_SHORT)?;
        let decoded = match self.encoding {
            Encoding::DeltaNumbers if matches!(width, 4 | 8) => {
                let (numbers, _) = values::deltas(bytes, self.count)?;
                numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(width)).collect()
            }
            Encoding::DeltaTexts => {
                let texts = Texts::delta_texts(bytes, self.count)?;
                if (0..self.count).any(|i| texts.get(i).len() != width) {
                    return Err(Damaged("values are not as wide as their type says"));
                }
                texts.bytes
            }
            _ => return Ok(()),
        };
        (self.values, self.encoding) = (Place::Decoded(decoded), Encoding::Plain);
        Ok(())
    }

    /// The first of its levels that does not belong to a present value, or that breaks lists of `length` elements;
    /// `first` levels of the chunk came before.
    pub(super) fn first_fault(&self, leaf: &Leaf, first: u64, length: usize) -> Result<Option<usize>> {
        let mut fault = None;
        if leaf.value_level > 0 {
            let levels = Hybrid::new(bits(leaf.value_level.into()), self.definition.start)?;
            fault = levels.first_other(&self.bytes[..self.definition.end], self.count, leaf.value_level.into())?;
        }
        if leaf.repeated {
            let offset = (first % length as u64) as usize;
            let count = fault.map_or(self.count, |at| at + 1);
            let levels = Hybrid::new(1, self.repetition.start)?;
            let broken = levels.first_irregular(&self.bytes[..self.repetition.end], count, offset, length)?;
            fault = broken.or(fault);
        }
        Ok(fault)
    }

    /// Levels of repetition and definition from `start` on, until `see` has seen enough. True if it has.
    pub(super) fn levels(&self, leaf: &Leaf, start: usize, mut see: impl FnMut(u32, u32) -> bool) -> Result<bool> {
        const BLOCK: usize = 1024;
        let mut decoders = [
            (leaf.repeated, Hybrid::new(1, self.repetition.start)?, &self.bytes[..self.repetition.end]),
            (
                leaf.value_level > 0,
                Hybrid::new(bits(leaf.value_level.into()), self.definition.start)?,
                &self.bytes[..self.definition.end],
            ),
        ];
        for (exists, levels, bytes) in &mut decoders {
            if *exists {
                levels.skip(bytes, start)?;
            }
        }
        let mut blocks = [[0; BLOCK]; 2];
        let mut done = start;
        while done < self.count {
            let now = BLOCK.min(self.count - done);
            for ((exists, levels, bytes), block) in decoders.iter_mut().zip(&mut blocks) {
                if *exists {
                    levels.fill(bytes, &mut block[..now])?;
                }
            }
            if (0..now).any(|i| see(blocks[0][i], blocks[1][i])) {
                return Ok(true);
            }
            done += now;
        }
        Ok(false)
    }

    /// The bytes with the values, where they are not in the file.
    pub(super) fn values(&self) -> Result<&[u8]> {
        match &self.values {
            Place::Held(start) => self.bytes.get(*start..).ok_or(CUT_SHORT),
            Place::Decoded(bytes) => Ok(bytes),
            Place::File(_) => Err(Damaged("values were left in the file")),
        }
    }

    /// Values `range` as plain bytes of `width` each.
    pub(super) fn fill(
        &self,
        file: &Opened,
        width: usize,
        range: Range<usize>,
        dictionary: Option<&[u8]>,
        out: &mut [u8],
    ) -> Read<()> {
        match self.values {
            Place::File(start) => file.read(start + (range.start * width) as u64, out),
            _ => Ok(values::fixed(self.encoding, self.values()?, self.count, width, range, dictionary, out)?),
        }
    }
}
