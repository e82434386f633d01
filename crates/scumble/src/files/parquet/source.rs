//! A data set of Parquet files as an input: rows are dealt out in order, and read by the thread that takes them.

use super::flat::{Carried, Flat};
use super::footer::{Group, Leaf};
use super::pages::Column as Chunks;
use super::vectors::{self, Vectors};
use super::{MOST_ROWS, Opened};
use crate::columns::{Column, ColumnKind};
use crate::files::array::{Element, saturate};
use crate::files::batch::{Batch, Piece, Shared, Values};
use crate::files::error::{self, ReadError, ReadErrorKind};
use crate::files::folder::files;
use crate::files::input::{self, Lent, Pool};
use crate::files::{ReadOptions, Source};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns of a data set: the same in all its files.
#[derive(Debug, Clone, PartialEq)]
struct Fields {
    vector: String,
    element: Element,
    id: Option<(String, ColumnKind)>,
    label: Option<(String, ColumnKind)>,
    person: Option<(String, ColumnKind)>,
}

/// Where they are in one file.
#[derive(Debug)]
struct Places {
    vector: Leaf,
    id: Option<Carried>,
    label: Option<Carried>,
    person: Option<Carried>,
}

/// Finds the columns in a file.
fn find(file: &Opened, options: &ReadOptions) -> Result<(Fields, Places), ReadError> {
    let column = file.find(Some(&options.column), "")?.expect("asked for");
    let (vector, element) = file.vectors(column)?;
    let carried = |asked: &Option<String>, is_id| {
        let Some(name) = asked else { return Ok(None) };
        file.carried(file.find(Some(name), "")?.expect("asked for"), is_id).map(Some)
    };
    let (id, label) = (carried(&options.id, true)?, carried(&options.label, false)?);
    let person = carried(&options.person, true)?;
    let field = |carried: &Option<Carried>| carried.as_ref().map(|c| (c.name.clone(), c.kind));
    let vectors = options.column.clone();
    let fields = Fields { vector: vectors, element, id: field(&id), label: field(&label), person: field(&person) };
    Ok((fields, Places { vector, id, label, person }))
}

struct ParquetSource {
    options: ReadOptions,
    fields: Fields,
    dim: usize,
    rows: u64,
    next: u64,
    files: std::vec::IntoIter<PathBuf>,
    groups: Option<Range<usize>>, // of every file; all if not given
    current: PathBuf,
    file: Option<OpenFile>,
    pools: Pools,
}

/// A file that is being read.
struct OpenFile {
    file: Arc<Opened>,
    places: Places,
    groups: Range<usize>, // that are still to be read
    group: Option<OpenGroup>,
}

/// A row group that is being read.
struct OpenGroup {
    left: u64,
    vectors: Vectors,
    ids: Option<Flat>,
    labels: Option<Flat>,
    persons: Option<Flat>,
}

/// Buffers for pages, for values as they are stored, and for values of narrower types.
#[derive(Debug, Clone, Default)]
struct Pools {
    pages: Pool,
    rows: Pool,
    narrow: Pool,
}

pub(in crate::files) fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    Ok(Box::new(open_files(files(path)?, path, options)?))
}

/// The same for some row groups of one file. Rows keep their numbers.
pub(in crate::files) fn open_groups(
    path: &Path,
    groups: Range<usize>,
    options: &ReadOptions,
) -> Result<Box<dyn Source>, ReadError> {
    let source = open_files(vec![path.to_owned()], path, options)?;
    let all = &Opened::new(path)?.footer.groups;
    let changed = || ReadError::new(path, ReadErrorKind::Changed);
    let (before, here) = (all.get(..groups.start), all.get(groups.clone()));
    let rows = |groups: Option<&[Group]>| groups.map(|groups| groups.iter().map(|group| group.rows).sum::<u64>());
    let (next, rows) = (rows(before).ok_or_else(changed)?, rows(here).ok_or_else(changed)?);
    Ok(Box::new(ParquetSource { next, rows: next + rows, groups: Some(groups), ..source }))
}

/// (rows, bytes) of the row groups of one file, whose columns are there and can be read.
pub(in crate::files) fn row_groups(path: &Path, options: &ReadOptions) -> Result<Vec<(u64, u64)>, ReadError> {
    let file = Opened::new(path)?;
    let (_, Places { vector, id, label, person }) = find(&file, options)?;
    let carried = [id, label, person].into_iter().flatten().map(|carried| carried.leaf);
    let (leaves, pool): (Vec<Leaf>, _) = (std::iter::once(vector).chain(carried).collect(), Pool::default());
    let group = |(number, group): (usize, &Group)| {
        for leaf in &leaves {
            Chunks::new(&file, *leaf, number, &pool).map_err(|kind| ReadError::new(path, kind))?;
        }
        Ok((group.rows, group.chunks.iter().map(|chunk| chunk.length).sum()))
    };
    file.footer.groups.iter().enumerate().map(group).collect()
}

fn open_files(files: Vec<PathBuf>, path: &Path, options: &ReadOptions) -> Result<ParquetSource, ReadError> {
    let mut fields: Option<Fields> = None;
    let (mut dim, mut rows) = (None, 0u64);
    for file in &files {
        let opened = Opened::new(file)?;
        let (found, places) = find(&opened, options)?;
        match &fields {
            Some(first) if *first != found => {
                let first = files[0].file_name().unwrap_or_default().to_string_lossy();
                return Err(ReadError::new(file, ReadErrorKind::SchemaDiffers(error::one_line(&first))));
            }
            Some(_) => {}
            None => fields = Some(found),
        }
        if opened.rows() > 0 && dim.is_none() {
            dim = Some(vectors::first_length(&opened, places.vector, &options.column)?);
        }
        let total = rows.checked_add(opened.rows());
        rows = total.ok_or_else(|| ReadError::new(file, ReadErrorKind::TooLarge))?;
    }
    let (Some(fields), Some(dim)) = (fields, dim) else { return Err(ReadError::new(path, ReadErrorKind::NoRows)) };
    if let Some(expected) = options.dim.filter(|expected| *expected != dim) {
        let kind = ReadErrorKind::Dimension { found: dim as u64, expected: expected as u64 };
        return Err(ReadError::new(path, kind));
    }
    Ok(ParquetSource {
        options: options.clone(),
        fields,
        dim,
        rows,
        next: 0,
        files: files.into_iter(),
        groups: None,
        current: PathBuf::new(),
        file: None,
        pools: Pools::default(),
    })
}

/// Labels alone: the column `label`, or the only one.
pub(in crate::files) fn read_labels(path: &Path) -> Result<Column, ReadError> {
    let mut labels: Option<Column> = None;
    let (mut row, pool) = (0, Pool::default());
    for path in files(path)? {
        let file = Opened::new(&path)?;
        let column = match file.find(None, "label")? {
            Some(column) => column,
            None if file.names.len() == 1 => 0,
            None => return Err(ReadError::new(&path, ReadErrorKind::NoLabel(file.names.len()))),
        };
        let carried = file.carried(column, false)?;
        for (number, group) in file.footer.groups.iter().enumerate() {
            let (mut flat, mut left) = (Flat::new(&file, &carried, number, row, &pool)?, group.rows);
            while left > 0 {
                let now = left.min(MOST_ROWS as u64);
                let more = flat.take(now as usize)?;
                if !labels.get_or_insert_with(|| Column::new(carried.kind)).append(more) {
                    return Err(ReadError::new(&path, ReadErrorKind::SchemaDiffers("the first file".to_owned())));
                }
                (row, left) = (row + now, left - now);
            }
        }
    }
    labels.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))
}

/// Hands over the persons and the ids of all rows, and nothing else.
pub(in crate::files) fn names(
    path: &Path,
    person: &str,
    id: Option<&str>,
    visit: &mut dyn FnMut(&Column, Option<&Column>),
) -> Result<(), ReadError> {
    let (mut row, pool) = (0, Pool::default());
    for path in files(path)? {
        let file = Opened::new(&path)?;
        let asked = |name: &str| file.carried(file.find(Some(name), "")?.expect("asked for"), true);
        let (person, id) = (asked(person)?, id.map(asked).transpose()?);
        for (number, group) in file.footer.groups.iter().enumerate() {
            let flat = |carried: &Carried| Flat::new(&file, carried, number, row, &pool);
            let (mut persons, mut ids) = (flat(&person)?, id.as_ref().map(flat).transpose()?);
            let mut left = group.rows;
            while left > 0 {
                let now = left.min(MOST_ROWS as u64);
                let some = ids.as_mut().map(|ids| ids.take(now as usize)).transpose()?;
                visit(&persons.take(now as usize)?, some.as_ref());
                (row, left) = (row + now, left - now);
            }
        }
    }
    Ok(())
}

impl ParquetSource {
    /// The row group with the next rows; `None` at the end.
    fn group(&mut self) -> Result<Option<&mut OpenGroup>, ReadError> {
        loop {
            let next = self.next;
            if let Some(open) = &mut self.file {
                if open.group.as_ref().is_some_and(|group| group.left > 0) {
                    break;
                }
                if let Some(number) = open.groups.next() {
                    open.open_group(number, &self.fields, self.dim, next, &self.pools.pages)?;
                    continue;
                }
            }
            let Some(path) = self.files.next() else { return Ok(None) };
            let file = Opened::new(&path)?;
            let (fields, places) = find(&file, &self.options)?;
            if fields != self.fields {
                return Err(ReadError::new(&path, ReadErrorKind::Changed));
            }
            let all = 0..file.footer.groups.len();
            let groups = self.groups.clone().unwrap_or(all);
            self.file = Some(OpenFile { file, places, groups, group: None });
            self.current = path;
        }
        Ok(self.file.as_mut().and_then(|open| open.group.as_mut()))
    }
}

impl OpenFile {
    fn open_group(
        &mut self,
        number: usize,
        fields: &Fields,
        dim: usize,
        row: u64,
        pool: &Pool,
    ) -> Result<(), ReadError> {
        let Places { vector, id, label, person } = &self.places;
        self.group = None;
        let left = self.file.footer.groups[number].rows;
        if left > 0 {
            let flat = |carried: &Option<Carried>| {
                carried.as_ref().map(|carried| Flat::new(&self.file, carried, number, row, pool)).transpose()
            };
            let vectors = Vectors::new(&self.file, *vector, number, &fields.vector, dim, row, pool)?;
            self.group =
                Some(OpenGroup { left, vectors, ids: flat(id)?, labels: flat(label)?, persons: flat(person)? });
        }
        Ok(())
    }
}

impl Source for ParquetSource {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rows_hint(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError> {
        self.next_piece(max_rows)?.map(Piece::decode).transpose()
    }

    fn next_piece(&mut self, max_rows: usize) -> Result<Option<Piece>, ReadError> {
        let (first_row, dim, element, pools) = (self.next, self.dim, self.fields.element, self.pools.clone());
        let Some(group) = self.group()? else {
            let kind = ReadErrorKind::Count { found: self.next, expected: self.rows };
            return if self.next == self.rows { Ok(None) } else { Err(ReadError::new(&self.current, kind)) };
        };
        let most = input::batch_rows(MOST_ROWS.min(max_rows.max(1)), group.vectors.row_bytes());
        let rows = most.min(usize::try_from(group.left).unwrap_or(usize::MAX));
        let part = group.vectors.take(rows)?;
        let ids = group.ids.as_mut().map(|ids| ids.take(rows)).transpose()?;
        let labels = group.labels.as_mut().map(|labels| labels.take(rows)).transpose()?;
        let persons = group.persons.as_mut().map(|persons| persons.take(rows)).transpose()?;
        group.left -= rows as u64;
        self.next += rows as u64;
        let read = move || {
            let mut plain = pools.rows.lend(part.bytes());
            part.fill(&mut plain)?;
            Ok(Batch::dense(first_row, dim, numbers(plain, element, &pools.narrow)))
        };
        Ok(Some(Piece::new(first_row, rows, ids, labels, read).of_persons(persons)))
    }
}

/// Stored values as numbers: in place, or narrowed to their own type. Unsigned ones widen as in [`Element::decode`].
fn numbers(plain: Lent, element: Element, pool: &Pool) -> Values {
    let ints = || plain.as_chunks::<4>().0.iter().map(|x| i32::from_le_bytes(*x));
    match element {
        Element::Bool | Element::U8 => {
            let mut out = pool.lend(plain.len() / 4);
            out.iter_mut().zip(ints()).for_each(|(out, x)| *out = x as u8);
            Values::U8(out.share())
        }
        Element::I8 => {
            let mut out = pool.lend(plain.len() / 4);
            out.iter_mut().zip(ints()).for_each(|(out, x)| *out = x as u8);
            Values::I8(Shared::cast(out.share()))
        }
        Element::I16 => {
            let mut out = pool.lend(plain.len() / 2);
            out.as_chunks_mut::<2>().0.iter_mut().zip(ints()).for_each(|(out, x)| *out = (x as i16).to_ne_bytes());
            Values::I16(Shared::cast(out.share()))
        }
        Element::U32 => Values::I64(ints().map(|x| i64::from(x as u32)).collect::<Vec<_>>().into()),
        Element::U64 => {
            let longs = plain.as_chunks::<8>().0.iter().map(|x| u64::from_le_bytes(*x));
            Values::I64(longs.map(saturate).collect::<Vec<_>>().into())
        }
        Element::U16 => Element::I32.decode(plain.share(), false),
        Element::I32 | Element::I64 | Element::F16 | Element::F32 | Element::F64 => {
            element.decode(plain.share(), false)
        }
    }
}
