//! A column whose rows all have the same width, read by many at once: one walks from page to page and deals out rows, the
//! others read, decompress and check the pages of their rows and put the values where they belong.

use super::Opened;
use super::footer::Leaf;
use super::pages::{Body, Column, Holds, Read, Stored, Walk};
use crate::files::error::{ReadError, ReadErrorKind};
use crate::files::input::{Lent, Pool, ROW_LIMIT};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// What all pages of a chunk share.
#[derive(Debug)]
struct Shape {
    column: Column,
    /// Name of the column, for errors.
    name: String,
    /// Number of the chunk's first row, counted over the whole input.
    first_row: u64,
    /// Values that make a row.
    dim: usize,
    /// Bytes of a value.
    width: usize,
}

/// A page that several blocks of rows may share. The first that needs it reads it.
#[derive(Debug)]
struct Page {
    stored: Stored,
    /// Number of its first value in the chunk.
    first: u64,
    dictionary: Option<Arc<Lent>>,
    body: OnceLock<Result<Body, Fault>>,
}

/// What is wrong with a page.
#[derive(Debug, Clone)]
enum Fault {
    /// It cannot be read.
    Page(ReadErrorKind),
    /// Something other than a value of a whole row is at this place of the chunk.
    Value(u64),
}

impl Page {
    fn end(&self) -> u64 {
        self.first + self.stored.count as u64
    }

    fn body(&self, shape: &Shape) -> Result<&Body, Fault> {
        let load = || {
            let body = shape.column.load(&self.stored).map_err(Fault::Page)?;
            let fault = body.first_fault(&shape.column.leaf, self.first, shape.dim);
            match fault.map_err(|e| Fault::Page(e.into()))? {
                Some(at) => Err(Fault::Value(self.first + at as u64)),
                None => Ok(body),
            }
        };
        self.body.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

/// Deals out the rows of one row group.
#[derive(Debug)]
pub(super) struct Vectors {
    shape: Arc<Shape>,
    walk: Walk,
    last: Option<Arc<Page>>,
    dictionary: Option<Arc<Lent>>,
    /// Values that the pages so far hold.
    held: u64,
    row: u64,
}

impl Vectors {
    /// Rows of `dim` values; the first of them has the number `first_row`.
    pub(super) fn new(
        file: &Arc<Opened>,
        leaf: Leaf,
        group: usize,
        name: &str,
        dim: usize,
        first_row: u64,
        pool: &Pool,
    ) -> Result<Self, ReadError> {
        let fault = |kind| ReadError::new(&file.path, kind).at_row(first_row).at_column(name);
        let column = Column::new(file, leaf, group, pool).map_err(fault)?;
        let width = leaf.physical.width().unwrap_or(0);
        if width == 0 || dim == 0 {
            return Err(fault(ReadErrorKind::NoColumns));
        }
        let row_bytes = (dim as u64).saturating_mul(width as u64);
        let all = file.footer.groups[group].rows.checked_mul(row_bytes);
        if row_bytes > ROW_LIMIT || all.is_none() {
            return Err(fault(ReadErrorKind::RowTooLong { limit: ROW_LIMIT }));
        }
        let walk = column.walk();
        let shape = Arc::new(Shape { column, name: name.to_owned(), first_row, dim, width });
        Ok(Self { shape, walk, last: None, dictionary: None, held: 0, row: 0 })
    }

    /// Bytes of a row as it is stored.
    pub(super) fn row_bytes(&self) -> usize {
        self.shape.dim * self.shape.width
    }

    /// The next rows, still unread.
    pub(super) fn take(&mut self, rows: usize) -> Result<Part, ReadError> {
        let dim = self.shape.dim as u64;
        let range = self.row * dim..(self.row + rows as u64) * dim;
        let mut pages: Vec<_> = self.last.iter().filter(|page| page.end() > range.start).cloned().collect();
        while self.held < range.end {
            let page = self.next_page().map_err(|kind| self.shape.page_error(self.held, kind))?;
            let Some(page) = page else { break };
            self.held = page.end();
            pages.push(page);
        }
        self.last = pages.last().cloned();
        self.row += rows as u64;
        Ok(Part { shape: self.shape.clone(), held: self.held, pages, range })
    }

    fn next_page(&mut self) -> Read<Option<Arc<Page>>> {
        let column = &self.shape.column;
        while let Some(stored) = self.walk.next(&column.file)? {
            if stored.holds == Holds::Dictionary {
                self.dictionary = Some(Arc::new(column.load_dictionary(&stored)?));
                continue;
            }
            let (first, dictionary, body) = (self.held, self.dictionary.clone(), OnceLock::new());
            return Ok(Some(Arc::new(Page { stored, first, dictionary, body })));
        }
        Ok(None)
    }
}

/// Rows that are yet to be read.
#[derive(Debug)]
pub(super) struct Part {
    shape: Arc<Shape>,
    pages: Vec<Arc<Page>>,
    /// Its values, counted over the chunk.
    range: Range<u64>,
    /// Values of the chunk up to the last page.
    held: u64,
}

impl Part {
    /// Bytes that the values take.
    pub(super) fn bytes(&self) -> usize {
        (self.range.end - self.range.start) as usize * self.shape.width
    }

    /// The values as they are stored, plain and little-endian.
    pub(super) fn fill(&self, out: &mut [u8]) -> Result<(), ReadError> {
        let (shape, mut fault) = (&self.shape, None);
        // From the last page on: the first is likely to be in other hands already.
        for page in self.pages.iter().rev() {
            let values = page.first.max(self.range.start)..page.end().min(self.range.end);
            let place = |at: u64| (at - self.range.start) as usize * shape.width;
            let inner = (values.start - page.first) as usize..(values.end - page.first) as usize;
            let out = &mut out[place(values.start)..place(values.end)];
            let dictionary = page.dictionary.as_ref().map(|bytes| &bytes[..]);
            let filled = page.body(shape).and_then(|body| {
                body.fill(&shape.column.file, shape.width, inner, dictionary, out).map_err(Fault::Page)
            });
            if let Err(error) = filled {
                fault = Some((page.first, error));
            }
        }
        match fault {
            Some((first, Fault::Page(kind))) => Err(shape.page_error(first, kind)),
            Some((_, Fault::Value(at))) => Err(shape.explain(at)),
            None if self.held < self.range.end => Err(shape.explain(self.held)),
            None => Ok(()),
        }
    }
}

impl Shape {
    /// A page that cannot be read, at the row that its first value belongs to.
    fn page_error(&self, first: u64, kind: ReadErrorKind) -> ReadError {
        self.error(first / self.dim as u64, &self.name, kind)
    }

    fn error(&self, row: u64, column: &str, kind: ReadErrorKind) -> ReadError {
        ReadError::new(&self.column.file.path, kind).at_row(self.first_row + row).at_column(column)
    }

    /// Why the value at this place is not one of a whole row. All before it are.
    fn explain(&self, at: u64) -> ReadError {
        let (row, offset) = (at / self.dim as u64, at % self.dim as u64);
        let (mut here, mut more) = (None, 0);
        let seen = levels(&self.column, at, |repetition, definition| match here {
            None => {
                here = Some((repetition, definition));
                false
            }
            Some(_) => {
                more += u64::from(repetition == 1);
                repetition == 0 || more > ROW_LIMIT
            }
        });
        if let Err(kind) = seen {
            return self.page_error(at, kind);
        }
        let length =
            |row, found| self.error(row, &self.name, ReadErrorKind::Dimension { found, expected: self.dim as u64 });
        let (list, value) = (u32::from(self.column.leaf.list_level), u32::from(self.column.leaf.value_level));
        match here {
            None if offset > 0 => length(row, offset),
            None => self.error(row, &self.name, ReadErrorKind::Corrupt("the column ends before the others".to_owned())),
            Some((1, _)) if offset == 0 && row > 0 => length(row - 1, self.dim as u64 + 1 + more),
            Some((0, _)) if offset > 0 => length(row, offset),
            Some((_, level)) if level < list || !self.column.leaf.repeated => {
                self.error(row, &self.name, ReadErrorKind::Null)
            }
            Some((_, level)) if level == list => length(row, 0),
            Some((_, level)) if level < value => {
                self.error(row, &format!("{}[{offset}]", self.name), ReadErrorKind::Null)
            }
            Some(_) => self.error(row, &self.name, ReadErrorKind::Corrupt("levels are out of order".to_owned())),
        }
    }
}

/// Levels of a chunk from `start` on, until `see` has seen enough. One after another: for the first row and for faults.
fn levels(column: &Column, start: u64, mut see: impl FnMut(u32, u32) -> bool) -> Read<()> {
    let (mut walk, mut first) = (column.walk(), 0);
    while let Some(page) = walk.next(&column.file)? {
        let end = first + if page.holds == Holds::Dictionary { 0 } else { page.count as u64 };
        if end > start {
            let skip = start.saturating_sub(first) as usize;
            if column.load(&page)?.levels(&column.leaf, skip, &mut see)? {
                return Ok(());
            }
        }
        first = end;
    }
    Ok(())
}

/// The length of the first list of a file that has rows: it sets the dimension of the data set.
pub(super) fn first_length(file: &Arc<Opened>, leaf: Leaf, name: &str) -> Result<usize, ReadError> {
    let fault = |kind| ReadError::new(&file.path, kind).at_row(0).at_column(name);
    let group = file.footer.groups.iter().position(|group| group.rows > 0);
    let group = group.ok_or_else(|| ReadError::new(&file.path, ReadErrorKind::NoRows))?;
    let column = Column::new(file, leaf, group, &Pool::default()).map_err(fault)?;
    let (mut length, mut least, limit) = (0u64, u32::MAX, ROW_LIMIT / leaf.physical.width().unwrap_or(1).max(1) as u64);
    let mut first = true;
    let seen = levels(&column, 0, |repetition, definition| {
        if !std::mem::take(&mut first) && repetition == 0 {
            return true;
        }
        length += u64::from(definition > u32::from(leaf.list_level));
        least = least.min(definition);
        length > limit
    });
    seen.map_err(fault)?;
    match length {
        _ if least < u32::from(leaf.list_level) => Err(fault(ReadErrorKind::Null)),
        0 => Err(fault(ReadErrorKind::NoColumns)),
        length if length > limit => Err(fault(ReadErrorKind::RowTooLong { limit: ROW_LIMIT })),
        length => Ok(length as usize),
    }
}
