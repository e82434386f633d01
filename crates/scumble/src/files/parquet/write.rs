//! Writing a release: sketches stored plainly, ids and labels beside them, all in one pass.
//!
//! Noise does not compress and has no useful statistics. Floats and packed bytes are written as they are. Parquet has no
//! integers below 32 bits, but a dictionary packs them into as many bits as their values need.
//!
//! Columns follow each other in the file as they do in the schema. Some readers take the place of the first column for that
//! of its row group: if it stood elsewhere, they would find no rows, and say nothing.

use super::arrow_schema::{self, Number, Type};
use super::hybrid::bits;
use super::thrift::Output;
use crate::columns::{Column, ColumnKind};
use crate::files::memory;
use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};
use std::ops::Range;

/// Bytes after which a row group is closed.
const GROUP_BYTES: usize = 32 << 20;

/// Rows after which it is closed: readers take groups side by side, and the writer keeps fewer sketches until its end.
const GROUP_ROWS: usize = 1 << 17;

/// Bytes of values that make a page.
const PAGE_BYTES: usize = 1 << 20;

/// Most distinct labels that are worth a dictionary.
const DICTIONARY_LIMIT: usize = 1 << 14;

const PLAIN: i32 = 0;
const RUNS: i32 = 3;
const DICTIONARY: i32 = 8;
const SNAPPY: i32 = 1;

/// How a sketch is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sketch {
    /// This many floats.
    Floats(usize),
    /// This many integers of that many bytes.
    Integers(usize, usize),
    /// This many bytes.
    Bytes(usize),
}

impl Sketch {
    fn row_bytes(self) -> usize {
        match self {
            Self::Floats(count) => 4 * count,
            Self::Integers(count, bytes) => count * bytes,
            Self::Bytes(count) => count,
        }
    }

    /// Values that make a row, where they are a list.
    fn list(self) -> Option<usize> {
        match self {
            Self::Floats(count) | Self::Integers(count, _) => Some(count),
            Self::Bytes(_) => None,
        }
    }
}

/// A file that is being written: columns with one value in each row, then the sketches, if it has any.
#[derive(Debug)]
pub(crate) struct FileWriter<W> {
    out: W,
    at: u64,
    name: &'static str, // of the column with the sketches
    sketch: Option<Sketch>,
    fields: Vec<(String, Type)>,
    rows: u64,
    groups: Vec<Output>,
    group: Group,
}

/// The row group that is being written.
#[derive(Debug)]
struct Group {
    rows: usize,
    bytes: usize,
    /// Sketches that wait for the page to be full; integers for the end, when it is known how many bits they take.
    waiting: Vec<u8>,
    /// Pages of sketches, which come after the other columns.
    pages: Vec<u8>,
    sketches: Chunk,
    columns: Vec<Column>,
}

/// What the footer says about a chunk.
#[derive(Debug, Default, Clone)]
struct Chunk {
    start: u64,
    /// Where the values begin if a dictionary comes first.
    values_start: Option<u64>,
    plain: u64,
    packed: u64,
}

impl<W: Write> FileWriter<W> {
    /// Begins a release whose ids and labels are of these kinds.
    pub(crate) fn new(out: W, sketch: Sketch, [ids, labels]: [Option<ColumnKind>; 2]) -> io::Result<Self> {
        let fields = [("id", ids), ("label", labels)].into_iter();
        let fields = fields.filter_map(|(name, kind)| Some((name.to_owned(), field_type(kind?))));
        Self::start(out, Some(sketch), fields.collect())
    }

    /// The same with another name for the column with the sketches.
    pub(crate) fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn start(mut out: W, sketch: Option<Sketch>, fields: Vec<(String, Type)>) -> io::Result<Self> {
        out.write_all(super::MAGIC)?;
        let at = super::MAGIC.len() as u64;
        Ok(Self { out, at, name: "sketch", sketch, group: Group::new(&fields), fields, rows: 0, groups: Vec::new() })
    }

    /// Adds rows. Their columns are of the file's kinds, their bytes of its width.
    pub(crate) fn write(&mut self, rows: usize, bytes: &[u8], columns: &[&Column]) -> io::Result<()> {
        let width = self.sketch.map_or(0, Sketch::row_bytes);
        let step = (PAGE_BYTES / width.max(1)).max(1);
        for start in (0..rows).step_by(step) {
            let part = start..rows.min(start + step);
            let sketches = &bytes[part.start * width..part.end * width];
            self.add_sketches(sketches)?;
            for (held, column) in self.group.columns.iter_mut().zip(columns) {
                let more = column.slice(part.clone());
                self.group.bytes += memory(&more);
                assert!(held.append(more), "kinds are fixed");
            }
            self.group.rows += part.len();
            self.group.bytes += sketches.len();
            if self.group.bytes >= GROUP_BYTES || self.group.rows >= GROUP_ROWS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Writes sketches as a page, or lets them wait until there are enough.
    fn add_sketches(&mut self, sketches: &[u8]) -> io::Result<()> {
        match self.sketch {
            None => Ok(()),
            Some(sketch @ (Sketch::Floats(_) | Sketch::Bytes(_))) => {
                let page = PAGE_BYTES / sketch.row_bytes() * sketch.row_bytes();
                if self.group.waiting.is_empty() && sketches.len() >= page {
                    return self.write_page(sketch, sketches);
                }
                self.group.waiting.extend_from_slice(sketches);
                if self.group.waiting.len() < page { Ok(()) } else { self.write_waiting(sketch) }
            }
            Some(Sketch::Integers(..)) => {
                self.group.waiting.extend_from_slice(sketches);
                Ok(())
            }
        }
    }

    fn write_waiting(&mut self, sketch: Sketch) -> io::Result<()> {
        let mut waiting = std::mem::take(&mut self.group.waiting);
        if !waiting.is_empty() {
            self.write_page(sketch, &waiting)?;
            waiting.clear();
        }
        self.group.waiting = waiting; // its memory is reused
        Ok(())
    }

    fn write_page(&mut self, sketch: Sketch, values: &[u8]) -> io::Result<()> {
        let page = Page { rows: values.len() / sketch.row_bytes(), dictionary: false, head: &[], values };
        let Group { pages, sketches, .. } = &mut self.group;
        if pages.capacity() == 0 {
            pages.reserve(GROUP_BYTES + 2 * PAGE_BYTES);
            memory::in_huge_pages(pages);
        }
        page.write(pages, &mut 0, sketch.list(), sketches)
    }

    /// Completes the file with these entries of its metadata.
    pub(crate) fn finish(mut self, pairs: &[(&str, &str)]) -> io::Result<W> {
        self.end_group()?;
        let arrow = arrow_schema::encode(&self.columns());
        let pairs = pairs.iter().copied().chain([(arrow_schema::KEY, &arrow[..])]);
        let pair = |(key, value): (&str, &str)| Output::default().binary(1, key.as_bytes()).binary(2, value.as_bytes());
        let orders = self.columns().into_iter().map(|_| Output::default().structure(1, Output::default()));
        let (orders, schema) = (orders.collect::<Vec<_>>(), self.schema());
        let footer = Output::default()
            .i32(1, 1)
            .structures(2, schema)
            .i64(3, self.rows as i64)
            .structures(4, std::mem::take(&mut self.groups))
            .structures(5, pairs.map(pair))
            .binary(6, format!("scumble {}", env!("CARGO_PKG_VERSION")).as_bytes())
            .structures(7, orders)
            .finish();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(super::MAGIC)?;
        Ok(self.out)
    }

    /// Names and types in the order of the schema.
    fn columns(&self) -> Vec<(&str, Type)> {
        let sketch = self.sketch.map(|sketch| match sketch {
            Sketch::Floats(count) => Type::List(count as i32, Number::Float32),
            Sketch::Integers(count, bytes) => Type::List(count as i32, Number::Int(8 * bytes as i32)),
            Sketch::Bytes(count) => Type::Bytes(count as i32),
        });
        let fields = self.fields.iter().map(|(name, kind)| (&name[..], *kind));
        fields.chain(sketch.map(|sketch| (self.name, sketch))).collect()
    }

    /// The elements of the schema: each group before its children.
    fn schema(&self) -> Vec<Output> {
        let mut elements = vec![Output::default().binary(4, b"arrow_schema").i32(5, self.columns().len() as i32)];
        for (name, kind) in self.columns() {
            match kind {
                Type::List(_, number) => {
                    let (list, repeated) = (Output::default().structure(3, Output::default()), 2);
                    elements.push(
                        Output::default().i32(3, 0).binary(4, name.as_bytes()).i32(5, 1).i32(6, 3).structure(10, list),
                    );
                    elements.push(Output::default().i32(3, repeated).binary(4, b"list").i32(5, 1));
                    elements.push(match number {
                        Number::Float32 => leaf("item", Type::Float32),
                        Number::Int(bits) => leaf("item", Type::Int(bits)),
                    });
                }
                other => elements.push(leaf(name, other)),
            }
        }
        elements
    }

    /// Writes what waits, and the description of the row group.
    fn end_group(&mut self) -> io::Result<()> {
        if self.group.rows == 0 {
            return Ok(());
        }
        if let Some(sketch @ (Sketch::Floats(_) | Sketch::Bytes(_))) = self.sketch {
            self.write_waiting(sketch)?;
        }
        let next = Group::new(&self.fields);
        let Group { rows, mut waiting, mut pages, mut sketches, columns, .. } =
            std::mem::replace(&mut self.group, next);
        let mut chunks = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            chunks.push(self.write_column(place, column)?);
        }
        sketches.start = self.at;
        let mut encodings = vec![PLAIN, RUNS];
        let packs = match self.sketch {
            Some(Sketch::Integers(count, 1)) => {
                self.write_integers(count, |[x]| i32::from(x as i8), &waiting, &mut sketches)?
            }
            Some(Sketch::Integers(count, _)) => {
                self.write_integers(count, |x| i32::from(i16::from_le_bytes(x)), &waiting, &mut sketches)?
            }
            Some(Sketch::Floats(_) | Sketch::Bytes(_)) | None => {
                self.put(&[&pages])?;
                false
            }
        };
        if packs {
            encodings.push(DICTIONARY);
        }
        for room in [&mut waiting, &mut pages] {
            room.clear();
        }
        (self.group.waiting, self.group.pages) = (waiting, pages); // their memory is reused
        if let Some(sketch) = self.sketch {
            let (path, physical): (&[&str], _) = match sketch {
                Sketch::Floats(_) => (&[self.name, "list", "item"], 4),
                Sketch::Integers(..) => (&[self.name, "list", "item"], 1),
                Sketch::Bytes(_) => (&[self.name], 7),
            };
            let meta = sketches.meta(physical, &encodings, path, 0, rows * sketch.list().unwrap_or(1));
            chunks.push((meta, sketches));
        }
        let total = |size: fn(&Chunk) -> u64| chunks.iter().map(|(_, chunk)| size(chunk)).sum::<u64>() as i64;
        let (plain, packed) = (total(|chunk| chunk.plain), total(|chunk| chunk.packed));
        let start = chunks.iter().map(|(_, chunk)| chunk.start).min().unwrap_or(0);
        let described = chunks.into_iter().map(|(meta, _)| Output::default().i64(2, 0).structure(3, meta));
        let group = Output::default()
            .structures(1, described)
            .i64(2, plain)
            .i64(3, rows as i64)
            .i64(5, start as i64)
            .i64(6, packed);
        self.groups.push(group);
        self.rows += rows as u64;
        Ok(())
    }

    /// Integers of `N` bytes. True if they have a dictionary: all from the least to the greatest, so that an integer's place
    /// is its distance from the least.
    fn write_integers<const N: usize>(
        &mut self,
        count: usize,
        number: impl Fn([u8; N]) -> i32 + Copy,
        raw: &[u8],
        chunk: &mut Chunk,
    ) -> io::Result<bool> {
        let (raw, _) = raw.as_chunks::<N>();
        let numbers = || raw.iter().map(|x| number(*x));
        let (least, most) = numbers().fold((i32::MAX, i32::MIN), |(least, most), x| (least.min(x), most.max(x)));
        let entries = (most - least + 1) as usize;
        let width = bits(entries as u32 - 1).max(1);
        let packs = 4 * entries + raw.len() * width as usize / 8 < 4 * raw.len();
        if packs {
            let dictionary: Vec<u8> = (least..=most).flat_map(i32::to_le_bytes).collect();
            self.write_dictionary(entries, &dictionary, &dictionary, chunk)?;
        }
        let mut values = Vec::new();
        for part in raw.chunks((PAGE_BYTES / (count * N)).max(1) * count) {
            values.clear();
            let numbers = part.iter().map(|x| number(*x));
            let head = if packs {
                pack(numbers.map(|x| (x - least) as u32), width, &mut values);
                places_head(part.len(), width)
            } else {
                values.extend(numbers.flat_map(i32::to_le_bytes));
                Vec::new()
            };
            let page = Page { rows: part.len() / count, dictionary: packs, head: &head, values: &values };
            page.write(&mut self.out, &mut self.at, Some(count), chunk)?;
        }
        Ok(packs)
    }

    /// Values that repeat, as labels do, get a dictionary; ids get their least and greatest value.
    fn write_column(&mut self, place: usize, column: &Column) -> io::Result<(Output, Chunk)> {
        let (name, kind) = self.fields[place].clone();
        let mut chunk = Chunk { start: self.at, ..Chunk::default() };
        let mut encodings = vec![PLAIN, RUNS];
        let distinct = if name == "id" { None } else { distinct(column) };
        if let Some((dictionary, _)) = &distinct {
            encodings.push(DICTIONARY);
            let plain = plain(dictionary, kind, 0..dictionary.len());
            self.write_dictionary(dictionary.len(), &compress(&plain)?, &plain, &mut chunk)?;
        }
        let step = page_rows(column);
        for start in (0..column.len()).step_by(step) {
            let part = start..column.len().min(start + step);
            let values = match &distinct {
                None => plain(column, kind, part.clone()),
                Some((dictionary, places)) => {
                    let width = bits(dictionary.len() as u32 - 1).max(1);
                    let mut values = places_head(part.len(), width);
                    pack(places[part.clone()].iter().copied(), width, &mut values);
                    values
                }
            };
            let packed = compress(&values)?;
            let encoding = if distinct.is_some() { DICTIONARY } else { PLAIN };
            let header = data_header(part.len(), encoding, values.len(), packed.len());
            chunk.add(&header, values.len(), packed.len());
            self.put(&[&header, &packed])?;
        }
        let mut meta = chunk.meta(physical(kind), &encodings, &[&name], SNAPPY, column.len());
        if let Some((least, most)) = (name == "id").then(|| extremes(column)).flatten() {
            meta = meta.structure(12, Output::default().i64(3, 0).binary(5, &most).binary(6, &least));
        }
        Ok((meta, chunk))
    }

    fn write_dictionary(&mut self, entries: usize, packed: &[u8], plain: &[u8], chunk: &mut Chunk) -> io::Result<()> {
        let header = Output::default()
            .i32(1, 2)
            .i32(2, plain.len() as i32)
            .i32(3, packed.len() as i32)
            .structure(7, Output::default().i32(1, entries as i32).i32(2, PLAIN))
            .finish();
        chunk.start = self.at;
        chunk.add(&header, plain.len(), packed.len());
        self.put(&[&header, packed])?;
        chunk.values_start = Some(self.at);
        Ok(())
    }

    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        put(&mut self.out, &mut self.at, parts)
    }
}

/// Writes a table of columns of one length. Floats are stored in four bytes where `narrow` names their column.
pub fn write_table<W: Write>(out: W, columns: &[(&str, &Column)], narrow: &[&str]) -> io::Result<W> {
    let field = |(name, column): &(&str, &Column)| match column.kind() {
        ColumnKind::Float if narrow.contains(name) => ((*name).to_owned(), Type::Float32),
        kind => ((*name).to_owned(), field_type(kind)),
    };
    let mut writer = FileWriter::start(out, None, columns.iter().map(field).collect())?;
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    writer.write(rows, &[], &columns.iter().map(|(_, column)| *column).collect::<Vec<_>>())?;
    writer.finish(&[])
}

fn put(out: &mut impl Write, at: &mut u64, parts: &[&[u8]]) -> io::Result<()> {
    for part in parts {
        out.write_all(part)?;
        *at += part.len() as u64;
    }
    Ok(())
}

impl Group {
    fn new(fields: &[(String, Type)]) -> Self {
        let kind = |kind| match kind {
            Type::Float32 | Type::Float64 => ColumnKind::Float,
            Type::Text => ColumnKind::Text,
            Type::Int(_) | Type::Bytes(_) | Type::List(..) => ColumnKind::Int,
        };
        let columns = fields.iter().map(|(_, found)| Column::new(kind(*found))).collect();
        Self { rows: 0, bytes: 0, waiting: Vec::new(), pages: Vec::new(), sketches: Chunk::default(), columns }
    }
}

impl Chunk {
    fn add(&mut self, header: &[u8], plain: usize, packed: usize) {
        self.plain += (header.len() + plain) as u64;
        self.packed += (header.len() + packed) as u64;
    }

    fn meta(&self, physical: i32, encodings: &[i32], path: &[&str], codec: i32, values: usize) -> Output {
        let meta = Output::default()
            .i32(1, physical)
            .i32s(2, encodings)
            .texts(3, path)
            .i32(4, codec)
            .i64(5, values as i64)
            .i64(6, self.plain as i64)
            .i64(7, self.packed as i64)
            .i64(9, self.values_start.unwrap_or(self.start) as i64);
        if self.values_start.is_some() { meta.i64(11, self.start as i64) } else { meta }
    }
}

/// A page of sketches: all there, all of one length.
struct Page<'a> {
    rows: usize,
    dictionary: bool,
    head: &'a [u8],
    values: &'a [u8],
}

impl Page<'_> {
    fn write(&self, out: &mut impl Write, at: &mut u64, list: Option<usize>, chunk: &mut Chunk) -> io::Result<()> {
        let levels = list.map_or_else(Vec::new, |length| levels(self.rows, length));
        let size = levels.len() + self.head.len() + self.values.len();
        let encoding = if self.dictionary { DICTIONARY } else { PLAIN };
        let header = data_header(self.rows * list.unwrap_or(1), encoding, size, size);
        chunk.add(&header, size, size);
        put(out, at, &[&header, &levels, self.head, self.values])
    }
}

fn data_header(count: usize, encoding: i32, plain: usize, packed: usize) -> Vec<u8> {
    let inner = Output::default().i32(1, count as i32).i32(2, encoding).i32(3, RUNS).i32(4, RUNS);
    Output::default().i32(1, 0).i32(2, plain as i32).i32(3, packed as i32).structure(5, inner).finish()
}

/// The levels of lists of one length without nulls: a list begins with 0 and goes on with ones; every value is there.
fn levels(rows: usize, length: usize) -> Vec<u8> {
    let run = |count: usize, value: u8| [varint((count as u64) << 1), vec![value]].concat();
    let repetition = match length {
        1 => run(rows, 0),
        _ => [run(1, 0), run(length - 1, 1)].concat().repeat(rows),
    };
    let definition = run(rows * length, 1);
    let size = |levels: &[u8]| (levels.len() as u32).to_le_bytes();
    [&size(&repetition)[..], &repetition, &size(&definition), &definition].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// What comes before `count` packed places in a dictionary: their width, and their number in groups of eight.
fn places_head(count: usize, width: u32) -> Vec<u8> {
    [vec![width as u8], varint((count.div_ceil(8) as u64) << 1 | 1)].concat()
}

/// Packs numbers of `width` bits, padded to a multiple of eight numbers.
fn pack(numbers: impl ExactSizeIterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    let end = out.len() + numbers.len().div_ceil(8) * width as usize;
    let (mut word, mut held) = (0u64, 0);
    for number in numbers {
        word |= u64::from(number) << held;
        held += width;
        if held >= 32 {
            out.extend_from_slice(&(word as u32).to_le_bytes());
            word >>= 32;
            held -= 32;
        }
    }
    out.extend_from_slice(&word.to_le_bytes());
    out.resize(end, 0);
}

/// The type that a column of such values has.
fn field_type(kind: ColumnKind) -> Type {
    match kind {
        ColumnKind::Int => Type::Int(64),
        ColumnKind::Float => Type::Float64,
        ColumnKind::Text => Type::Text,
    }
}

/// The code of the type that values are stored as.
fn physical(kind: Type) -> i32 {
    match kind {
        Type::Int(64) => 2,
        Type::Int(_) => 1,
        Type::Float32 => 4,
        Type::Float64 => 5,
        Type::Text => 6,
        Type::Bytes(_) | Type::List(..) => 7,
    }
}

/// An element of the schema that holds values.
fn leaf(name: &str, kind: Type) -> Output {
    let leaf = Output::default().i32(1, physical(kind));
    let leaf = if let Type::Bytes(width) = kind { leaf.i32(2, width) } else { leaf };
    let leaf = leaf.i32(3, 0).binary(4, name.as_bytes());
    match kind {
        Type::Int(bits @ (8 | 16)) => {
            let integer = Output::default().byte(1, bits as i8).boolean(2, true);
            leaf.i32(6, if bits == 8 { 15 } else { 16 }).structure(10, Output::default().structure(10, integer))
        }
        Type::Text => leaf.i32(6, 0).structure(10, Output::default().structure(1, Output::default())),
        _ => leaf,
    }
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    snap::raw::Encoder::new().compress_vec(bytes).map_err(io::Error::other)
}

/// Values as they are stored plainly.
fn plain(column: &Column, kind: Type, range: Range<usize>) -> Vec<u8> {
    match column {
        Column::Float(v) if kind == Type::Float32 => v[range].iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        Column::Int(v) => v[range].iter().flat_map(|x| x.to_le_bytes()).collect(),
        Column::Float(v) => v[range].iter().flat_map(|x| x.to_le_bytes()).collect(),
        Column::Text(v) => {
            let mut out = Vec::new();
            for text in &v[range] {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
            out
        }
    }
}

/// Bytes that a column takes in memory.
fn memory(column: &Column) -> usize {
    match column {
        Column::Int(_) | Column::Float(_) => 8 * column.len(),
        Column::Text(v) => v.iter().map(|text| size_of::<String>() + text.len()).sum(),
    }
}

/// Rows that make a page.
fn page_rows(column: &Column) -> usize {
    let widest = match column {
        Column::Int(_) | Column::Float(_) => 8,
        Column::Text(v) => 4 + v.iter().map(String::len).max().unwrap_or(0),
    };
    (PAGE_BYTES / widest).max(1)
}

/// The distinct values and the place of each value among them, if they are few.
fn distinct(column: &Column) -> Option<(Column, Vec<u32>)> {
    fn find<K: Eq + Hash, T>(values: &[T], key: impl Fn(&T) -> K) -> Option<(Vec<usize>, Vec<u32>)> {
        let (mut seen, mut first, mut places) = (HashMap::new(), Vec::new(), Vec::with_capacity(values.len()));
        for (row, value) in values.iter().enumerate() {
            let place = *seen.entry(key(value)).or_insert_with(|| {
                first.push(row);
                first.len() as u32 - 1
            });
            if first.len() > DICTIONARY_LIMIT {
                return None;
            }
            places.push(place);
        }
        (2 * first.len() <= values.len()).then_some((first, places))
    }
    let (first, places) = match column {
        Column::Int(v) => find(v, |x| *x)?,
        Column::Float(v) => find(v, |x| x.to_bits())?,
        Column::Text(v) => {
            let texts: Vec<&str> = v.iter().map(String::as_str).collect();
            find(&texts, |x| *x)?
        }
    };
    let dictionary = match column {
        Column::Int(v) => Column::Int(first.iter().map(|row| v[*row]).collect()),
        Column::Float(v) => Column::Float(first.iter().map(|row| v[*row]).collect()),
        Column::Text(v) => Column::Text(first.iter().map(|row| v[*row].clone()).collect()),
    };
    Some((dictionary, places))
}

/// The least and the greatest id, unless they are long.
fn extremes(column: &Column) -> Option<(Vec<u8>, Vec<u8>)> {
    const LONGEST: usize = 64;
    match column {
        Column::Int(v) => Some((v.iter().min()?.to_le_bytes().to_vec(), v.iter().max()?.to_le_bytes().to_vec())),
        Column::Float(_) => None,
        Column::Text(v) => {
            let (least, most) = (v.iter().min()?.as_bytes(), v.iter().max()?.as_bytes());
            (least.len().max(most.len()) <= LONGEST).then(|| (least.to_vec(), most.to_vec()))
        }
    }
}
