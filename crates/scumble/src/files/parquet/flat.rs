//! A column with one value in each row, read from front to back: ids, labels and sketches of any length.

use super::Opened;
use super::footer::{Leaf, Meaning, Physical};
use super::hybrid::Hybrid;
use super::pages::{Body, Column as Chunk, Holds, Read, Walk};
use super::thrift::{CUT_SHORT, Damaged};
use super::values::{self, Encoding, Texts};
use crate::columns::{Column, ColumnKind};
use crate::files::error::{ReadError, ReadErrorKind};
use crate::files::input::Pool;
use std::sync::Arc;

/// A column of values and what they stand for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::files) struct Carried {
    pub(super) name: String,
    pub(super) leaf: Leaf,
    pub(super) meaning: Meaning,
    pub(in crate::files) kind: ColumnKind,
}

/// Reads one chunk of such a column.
#[derive(Debug)]
pub(super) struct Flat {
    column: Chunk,
    name: String,
    meaning: Meaning,
    first_row: u64,
    walk: Walk,
    dictionary: Option<Dictionary>,
    page: Option<Page>,
}

/// The distinct values of a chunk.
#[derive(Debug)]
enum Dictionary {
    Numbers(Vec<u8>),
    Texts(Texts),
}

/// The current page.
#[derive(Debug)]
struct Page {
    body: Body,
    /// Its texts, where they are not in the dictionary.
    texts: Option<Texts>,
    next: usize,
}

impl Flat {
    pub(super) fn new(
        file: &Arc<Opened>,
        carried: &Carried,
        group: usize,
        first_row: u64,
        pool: &Pool,
    ) -> Result<Self, ReadError> {
        let fault = |kind| ReadError::new(&file.path, kind).at_row(first_row).at_column(&carried.name);
        let column = Chunk::new(file, carried.leaf, group, pool).map_err(fault)?;
        let (walk, name) = (column.walk(), carried.name.clone());
        Ok(Self { column, name, meaning: carried.meaning, first_row, walk, dictionary: None, page: None })
    }

    fn error(&self, row: u64, kind: ReadErrorKind) -> ReadError {
        ReadError::new(&self.column.file.path, kind).at_row(row).at_column(&self.name)
    }

    /// The next `rows` values.
    pub(super) fn take(&mut self, rows: usize) -> Result<Column, ReadError> {
        let first = self.first_row;
        match self.column.leaf.physical {
            Physical::ByteArray => {
                let mut texts = Vec::with_capacity(rows);
                self.texts(rows, |row, text| {
                    texts.push(std::str::from_utf8(text).map_err(|_| (row, ReadErrorKind::NotUtf8))?.to_owned());
                    Ok(())
                })?;
                Ok(Column::Text(texts))
            }
            Physical::Boolean => Ok(Column::Int(self.booleans(rows)?)),
            physical => {
                let plain = self.numbers(rows)?;
                let column = numbers(&plain, physical, self.meaning);
                column.map_err(|(row, kind)| self.error(first + row as u64, kind))
            }
        }
    }

    /// Makes the next page current when the one before is used up; gives how many of its values can be taken.
    fn refill(&mut self, wanted: usize) -> Result<usize, ReadError> {
        let row = self.first_row;
        while self.page.as_ref().is_none_or(|page| page.next == page.body.count) {
            if !self.load().map_err(|kind| self.error(row, kind))? {
                let short = ReadErrorKind::Corrupt("the column ends before the others".to_owned());
                return Err(self.error(row, short));
            }
            let page = self.page.as_ref().expect("just loaded");
            let fault = page.body.first_fault(&self.column.leaf, 0, 1).map_err(|e| self.error(row, e.into()))?;
            if let Some(at) = fault {
                return Err(self.error(row + at as u64, ReadErrorKind::Null));
            }
        }
        let page = self.page.as_ref().expect("filled above");
        Ok(wanted.min(page.body.count - page.next))
    }

    /// Loads the next page with values; false at the end.
    fn load(&mut self) -> Read<bool> {
        let (width, physical) = (self.column.leaf.physical.width(), self.column.leaf.physical);
        while let Some(stored) = self.walk.next(&self.column.file)? {
            if stored.holds == Holds::Dictionary {
                let bytes = self.column.load_dictionary(&stored)?;
                self.dictionary = Some(match width {
                    Some(_) => Dictionary::Numbers(bytes.to_vec()),
                    None => Dictionary::Texts(Texts::plain(&bytes, stored.count)?),
                });
                continue;
            }
            let body = self.column.load(&stored)?;
            let texts = match body.encoding {
                _ if physical != Physical::ByteArray => None,
                Encoding::Plain => Some(Texts::plain(body.values()?, body.count)?),
                Encoding::DeltaLengths => Some(Texts::delta_lengths(body.values()?, body.count)?),
                Encoding::DeltaTexts => Some(Texts::delta_texts(body.values()?, body.count)?),
                _ => None,
            };
            self.page = Some(Page { body, texts, next: 0 });
            return Ok(true);
        }
        Ok(false)
    }

    /// Values of one width as plain bytes.
    fn numbers(&mut self, rows: usize) -> Result<Vec<u8>, ReadError> {
        let width = self.column.leaf.physical.width().expect("numbers have a width");
        let mut out = Vec::new();
        let mut done = 0;
        while done < rows {
            let count = self.refill(rows - done)?;
            let page = self.page.as_mut().expect("filled");
            let range = page.next..page.next + count;
            page.next += count;
            out.resize((done + count) * width, 0);
            let dictionary = match &self.dictionary {
                Some(Dictionary::Numbers(bytes)) => Some(&bytes[..]),
                _ => None,
            };
            let filled = page.body.fill(&self.column.file, width, range, dictionary, &mut out[done * width..]);
            filled.map_err(|kind| self.error(self.first_row, kind))?;
            done += count;
            self.first_row += count as u64;
        }
        Ok(out)
    }

    /// Byte strings, with the numbers of their rows.
    pub(super) fn texts(
        &mut self,
        rows: usize,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), (u64, ReadErrorKind)>,
    ) -> Result<(), ReadError> {
        let mut done = 0;
        while done < rows {
            let count = self.refill(rows - done)?;
            let first = self.first_row;
            let page = self.page.as_mut().expect("filled");
            let start = page.next;
            page.next += count;
            let result = match (&page.texts, &self.dictionary) {
                (Some(texts), _) => (0..count).try_for_each(|i| each(first + i as u64, texts.get(start + i))),
                (None, Some(Dictionary::Texts(texts))) if page.body.encoding == Encoding::Dictionary => {
                    chosen(&page.body, start, count).map_err(|e| (first, e.into())).and_then(|places| {
                        places.iter().enumerate().try_for_each(|(i, place)| {
                            let row = first + i as u64;
                            let outside = || (row, Damaged("a value is not in the dictionary").into());
                            let place = *place as usize;
                            (place < texts.ends.len()).then_some(()).ok_or_else(outside)?;
                            each(row, texts.get(place))
                        })
                    })
                }
                _ => Err((first, Damaged("values have an encoding that does not fit their type").into())),
            };
            result.map_err(|(row, kind)| self.error(row, kind))?;
            done += count;
            self.first_row += count as u64;
        }
        Ok(())
    }

    fn booleans(&mut self, rows: usize) -> Result<Vec<i64>, ReadError> {
        let mut out = Vec::new();
        while out.len() < rows {
            let count = self.refill(rows - out.len())?;
            let page = self.page.as_mut().expect("filled");
            let start = page.next;
            page.next += count;
            let bits = bits(&page.body, start, count).map_err(|e| self.error(self.first_row, e.into()))?;
            out.extend(bits.into_iter().map(i64::from));
            self.first_row += count as u64;
        }
        Ok(out)
    }
}

/// Places in the dictionary.
fn chosen(body: &Body, start: usize, count: usize) -> super::thrift::Result<Vec<u32>> {
    let bytes = body.values()?;
    let (mut places, mut out) = (values::places(bytes)?, vec![0; count]);
    places.skip(bytes, start)?;
    places.fill(bytes, &mut out)?;
    Ok(out)
}

/// Bits one after another, or runs of them after their length in 4 bytes.
fn bits(body: &Body, start: usize, count: usize) -> super::thrift::Result<Vec<u32>> {
    let bytes = body.values()?;
    match body.encoding {
        Encoding::Plain if bytes.len() >= body.count.div_ceil(8) => {
            Ok((start..start + count).map(|i| u32::from(bytes[i / 8] >> (i % 8) & 1)).collect())
        }
        Encoding::Plain => Err(CUT_SHORT),
        Encoding::Runs => {
            let (mut runs, mut out) = (Hybrid::new(1, 4)?, vec![0; count]);
            runs.skip(bytes, start)?;
            runs.fill(bytes, &mut out)?;
            Ok(out)
        }
        _ => Err(Damaged("values have an encoding that does not fit their type")),
    }
}

/// Numbers of any stored type, widened. The error has the row within the block.
fn numbers(plain: &[u8], physical: Physical, meaning: Meaning) -> Result<Column, (usize, ReadErrorKind)> {
    let unsigned = matches!(meaning, Meaning::Integer { signed: false, .. });
    let ints = || plain.as_chunks::<4>().0.iter().copied();
    let longs = || plain.as_chunks::<8>().0.iter().copied();
    Ok(match physical {
        Physical::Int32 if unsigned => Column::Int(ints().map(|x| i64::from(u32::from_le_bytes(x))).collect()),
        Physical::Int32 => Column::Int(ints().map(|x| i64::from(i32::from_le_bytes(x))).collect()),
        Physical::Float => Column::Float(ints().map(|x| f64::from(f32::from_le_bytes(x))).collect()),
        Physical::Double => Column::Float(longs().map(f64::from_le_bytes).collect()),
        Physical::Fixed(_) => {
            let halves = plain.as_chunks::<2>().0.iter();
            Column::Float(halves.map(|x| half::f16::from_le_bytes(*x).to_f64()).collect())
        }
        _ => {
            let numbers: Vec<_> = longs().map(i64::from_le_bytes).collect();
            match numbers.iter().position(|x| unsigned && *x < 0) {
                Some(row) => return Err((row, ReadErrorKind::IntegerRange)),
                None => Column::Int(numbers),
            }
        }
    })
}
