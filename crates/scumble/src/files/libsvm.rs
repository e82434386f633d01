//! LIBSVM text: `label index:value ...`, indices from 1 and strictly increasing, comments after `#`.
//!
//! The number of attributes must be given: the largest index that occurs is a fact of the private rows, and the shape of a
//! release is public. A first pass over the file finds the number of rows and whether all labels are integers; the second
//! pass reads and checks every entry.

use super::batch::{Batch, Layout, Values};
use super::error::{ReadError, ReadErrorKind};
use super::input::{self, Stream};
use super::{ReadOptions, Source};
use crate::columns::{Column, ColumnKind};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Lines that hold a row, without comments.
struct Lines {
    path: PathBuf,
    stream: BufReader<Stream>,
    line: Vec<u8>,
    row: u64,
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, ReadError> {
        let stream = BufReader::with_capacity(1 << 16, input::open_stream(path)?);
        Ok(Self { path: path.to_owned(), stream, line: Vec::new(), row: 0, number: 0 })
    }

    /// Moves to the next row; false at the end.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.row += u64::from(!self.line.is_empty());
        loop {
            self.line.clear();
            let mut limited = self.stream.by_ref().take(input::ROW_LIMIT + 1);
            let read = limited.read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| ReadError::io(&self.path, &e).at_line(self.number + 1))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 > input::ROW_LIMIT {
                return Err(self.fault(ReadErrorKind::RowTooLong { limit: input::ROW_LIMIT }));
            }
            if let Some(comment) = self.line.iter().position(|byte| *byte == b'#') {
                self.line.truncate(comment);
            }
            if self.number == 1 && self.line.starts_with(b"\xEF\xBB\xBF") {
                self.line.drain(..3);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn fault(&self, kind: ReadErrorKind) -> ReadError {
        ReadError::new(&self.path, kind).at_row(self.row).at_line(self.number)
    }

    /// The label and the entries of the row, as text.
    fn split(&self) -> Result<(&str, impl Iterator<Item = &str>), ReadError> {
        let line = std::str::from_utf8(&self.line).map_err(|_| self.fault(ReadErrorKind::NotUtf8))?;
        let mut tokens = line.split_ascii_whitespace();
        let label = tokens.next().expect("the line is not empty");
        if label.parse::<f64>().is_err() {
            return Err(self.fault(ReadErrorKind::BadLabel));
        }
        Ok((label, tokens))
    }

    fn entry(&self, token: &str) -> Result<(u32, f64), ReadError> {
        let entry = token.split_once(':').and_then(|(index, value)| {
            let digits = index.bytes().all(|byte| byte.is_ascii_digit());
            Some((index.parse::<u64>().ok().filter(|_| digits)?, value.parse::<f64>().ok()?))
        });
        let (index, value) = entry.ok_or_else(|| self.fault(ReadErrorKind::BadEntry))?;
        if index == 0 {
            return Err(self.fault(ReadErrorKind::IndexZero));
        }
        let most = u64::from(u32::MAX);
        let index = u32::try_from(index).map_err(|_| self.fault(ReadErrorKind::IndexOutOfRange { dim: most }))?;
        Ok((index, value))
    }
}

struct Libsvm {
    lines: Lines,
    dim: usize,
    rows: u64,
    next: u64,
    labels: ColumnKind,
    with_labels: bool,
}

pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    let dim = match options.dim {
        None => return Err(ReadError::new(path, ReadErrorKind::NoDimension)),
        Some(0) => return Err(ReadError::new(path, ReadErrorKind::NoColumns)),
        Some(dim) => dim,
    };
    let (labels, rows) = labels(path)?;
    Ok(Box::new(Libsvm { lines: Lines::open(path)?, dim, rows, next: 0, labels, with_labels: options.label.is_some() }))
}

/// What the labels are, and how many rows there are.
fn labels(path: &Path) -> Result<(ColumnKind, u64), ReadError> {
    let mut lines = Lines::open(path)?;
    let (mut kind, mut rows) = (ColumnKind::Int, 0);
    while lines.advance()? {
        kind = kind.widen(lines.split()?.0, false);
        rows += 1;
    }
    if rows == 0 {
        return Err(ReadError::new(path, ReadErrorKind::NoRows));
    }
    Ok((kind, rows))
}

/// The labels alone, which need no dimension.
pub(super) fn read_labels(path: &Path) -> Result<Column, ReadError> {
    let mut column = Column::new(labels(path)?.0);
    let mut lines = Lines::open(path)?;
    while lines.advance()? {
        if !column.push_cell(lines.split()?.0) {
            return Err(lines.fault(ReadErrorKind::Changed));
        }
    }
    Ok(column)
}

impl Source for Libsvm {
    fn dim(&self) -> usize {
        self.dim
    }

    fn rows_hint(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn is_sparse(&self) -> bool {
        true
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError> {
        const MOST_ENTRIES: usize = input::BATCH_BYTES / (size_of::<u32>() + size_of::<f64>());
        let (mut offsets, mut index, mut values): (_, Vec<u32>, Vec<f64>) = (vec![0], Vec::new(), Vec::new());
        let mut labels = Column::new(self.labels);
        while offsets.len() <= max_rows.max(1) && index.len() < MOST_ENTRIES && self.lines.advance()? {
            let (label, entries) = self.lines.split()?;
            if !labels.push_cell(label) {
                return Err(self.lines.fault(ReadErrorKind::Changed));
            }
            let mut last = 0;
            for token in entries {
                let (at, value) = self.lines.entry(token)?;
                if at <= last {
                    return Err(self.lines.fault(ReadErrorKind::IndexOrder));
                }
                if at as usize > self.dim {
                    return Err(self.lines.fault(ReadErrorKind::IndexOutOfRange { dim: self.dim as u64 }));
                }
                last = at;
                index.push(at - 1);
                values.push(value);
            }
            offsets.push(index.len());
        }
        let len = offsets.len() - 1;
        if len == 0 {
            let whole = self.next == self.rows;
            return if whole { Ok(None) } else { Err(self.lines.fault(ReadErrorKind::Changed)) };
        }
        let first_row = self.next;
        self.next += len as u64;
        let (values, layout) = (Values::F64(values.into()), Layout::Sparse { offsets, index });
        let labels = self.with_labels.then_some(labels);
        Ok(Some(Batch { first_row, len, dim: self.dim, values, layout, ids: None, labels, persons: None }))
    }
}
