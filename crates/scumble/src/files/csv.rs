//! CSV and TSV with a header line. One column may be the id, one the label; all others are attributes, in order.
//!
//! Where there is an id or a label, a first pass finds whether its cells are all integers (or, for labels, floats).

use super::batch::{Batch, Values};
use super::columns::find_column;
use super::error::{self, ReadError, ReadErrorKind};
use super::input::{self, RowDone, RowLimited};
use super::{ReadOptions, Source};
use crate::columns::{Column, Kind};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::path::{Path, PathBuf};

/// Records of a file, with a bound on their length.
struct Records {
    path: PathBuf,
    reader: Reader<RowLimited>,
    done: RowDone,
    names: Vec<String>,
    record: ByteRecord,
    row: u64,
}

impl Records {
    fn open(path: &Path, delimiter: u8) -> Result<Self, ReadError> {
        let (stream, done) = RowLimited::new(input::open_stream(path)?);
        let mut reader = ReaderBuilder::new().delimiter(delimiter).buffer_capacity(1 << 16).from_reader(stream);
        let fault = |kind| ReadError::new(path, kind).at_line(1);
        let header = reader.byte_headers().map_err(|e| csv_error(path, &e, None))?;
        let names = header.iter().map(|name| std::str::from_utf8(name.trim_ascii()).map(str::to_owned));
        let names: Vec<_> = names.collect::<Result<_, _>>().map_err(|_| fault(ReadErrorKind::NotUtf8))?;
        if names.is_empty() {
            return Err(ReadError::new(path, ReadErrorKind::NoRows));
        }
        // A file without a header would silently lose its first row.
        if names.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Err(fault(ReadErrorKind::NoHeader));
        }
        done.reset();
        Ok(Self { path: path.to_owned(), reader, done, names, record: ByteRecord::new(), row: 0 })
    }

    /// Reads the next row into `record`; false at the end.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.row += u64::from(!self.record.is_empty());
        let more = self.reader.read_byte_record(&mut self.record);
        self.done.reset();
        more.map_err(|e| csv_error(&self.path, &e, Some(self.row)))
    }

    fn fault(&self, column: usize, kind: ReadErrorKind) -> ReadError {
        let fault = ReadError::new(&self.path, kind).at_row(self.row).at_column(&self.names[column]);
        match self.record.position() {
            Some(position) => fault.at_line(position.line()),
            None => fault,
        }
    }

    fn text(&self, column: usize) -> Result<&str, ReadError> {
        let cell = std::str::from_utf8(&self.record[column]);
        let cell = cell.map_err(|_| self.fault(column, ReadErrorKind::NotUtf8))?;
        if cell.trim().is_empty() { Err(self.fault(column, ReadErrorKind::MissingCell)) } else { Ok(cell) }
    }

    fn number(&self, column: usize) -> Result<f64, ReadError> {
        let cell = self.text(column)?.trim();
        cell.parse().map_err(|_| self.fault(column, ReadErrorKind::NotANumber))
    }

    fn find(&self, asked: Option<&str>, default: &str) -> Result<Option<usize>, ReadError> {
        find_column(&self.path, &self.names, asked, default)
    }
}

fn csv_error(path: &Path, fault: &csv::Error, row: Option<u64>) -> ReadError {
    let found = match fault.kind() {
        csv::ErrorKind::Io(e) => ReadError::io(path, e),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let found = ReadError::new(path, ReadErrorKind::Ragged { found: *len, expected: *expected_len });
            pos.iter().fold(found, |found, pos| found.at_line(pos.line()))
        }
        _ => ReadError::new(path, ReadErrorKind::Corrupt("not a table".to_owned())),
    };
    row.into_iter().fold(found, ReadError::at_row)
}

/// A column that is carried through.
#[derive(Clone, Copy)]
struct Carried {
    at: usize,
    kind: Kind,
}

/// Finds the kind of each carried column over the whole file; also its number of rows.
fn kinds(mut records: Records, columns: [Option<usize>; 2]) -> Result<([Option<Carried>; 2], u64), ReadError> {
    let mut carried = columns.map(|at| at.map(|at| Carried { at, kind: Kind::Int }));
    let mut rows = 0;
    while records.advance()? {
        for (place, is_id) in carried.iter_mut().zip([true, false]) {
            if let Some(Carried { at, kind }) = place {
                *kind = kind.widen(records.text(*at)?, is_id);
            }
        }
        rows += 1;
    }
    Ok((carried, rows))
}

struct Table {
    records: Records,
    attributes: Vec<usize>,
    carried: [Option<Carried>; 2],
    rows: Option<u64>,
    next: u64,
}

pub(super) fn open(path: &Path, delimiter: u8, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    let records = Records::open(path, delimiter)?;
    let id = records.find(options.id.as_deref(), "id")?;
    let label = records.find(options.label.as_deref(), "label")?;
    let attributes: Vec<_> = (0..records.names.len()).filter(|at| ![id, label].contains(&Some(*at))).collect();
    let fault = |kind| Err(ReadError::new(path, kind));
    if attributes.is_empty() {
        return fault(ReadErrorKind::NoColumns);
    }
    if let Some(expected) = options.dim.filter(|dim| *dim != attributes.len()) {
        return fault(ReadErrorKind::Dimension { found: attributes.len() as u64, expected: expected as u64 });
    }
    if (id, label) == (None, None) {
        return Ok(Box::new(Table { records, attributes, carried: [None; 2], rows: None, next: 0 }));
    }
    let (carried, rows) = kinds(records, [id, label])?;
    if rows == 0 {
        return fault(ReadErrorKind::NoRows);
    }
    let records = Records::open(path, delimiter)?;
    Ok(Box::new(Table { records, attributes, carried, rows: Some(rows), next: 0 }))
}

/// Labels: the column `label`, or the only one.
pub(super) fn read_column(path: &Path, delimiter: u8) -> Result<Column, ReadError> {
    let records = Records::open(path, delimiter)?;
    let at = match records.find(None, "label")? {
        Some(at) => at,
        None if records.names.len() == 1 => 0,
        None => return Err(ReadError::new(path, ReadErrorKind::AmbiguousLabel(error::list(&records.names)))),
    };
    let ([_, carried], _) = kinds(records, [None, Some(at)])?;
    let mut records = Records::open(path, delimiter)?;
    let mut column = Column::new(carried.expect("asked for").kind);
    while records.advance()? {
        if !column.push_cell(records.text(at)?) {
            return Err(records.fault(at, ReadErrorKind::Changed));
        }
    }
    Ok(column)
}

impl Source for Table {
    fn dim(&self) -> usize {
        self.attributes.len()
    }

    fn rows_hint(&self) -> Option<u64> {
        self.rows
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError> {
        let most = input::batch_rows(max_rows.max(1), self.dim() * size_of::<f64>());
        let mut values = Vec::new();
        let mut columns = self.carried.map(|carried| carried.map(|carried| Column::new(carried.kind)));
        let mut len = 0;
        while len < most && self.records.advance()? {
            for at in &self.attributes {
                values.push(self.records.number(*at)?);
            }
            for (column, carried) in columns.iter_mut().zip(self.carried) {
                if let (Some(column), Some(Carried { at, .. })) = (column, carried)
                    && !column.push_cell(self.records.text(at)?)
                {
                    return Err(self.records.fault(at, ReadErrorKind::Changed));
                }
            }
            len += 1;
        }
        if len == 0 {
            let kind = match self.rows {
                _ if self.next == 0 => ReadErrorKind::NoRows,
                Some(rows) if rows != self.next => ReadErrorKind::Changed,
                _ => return Ok(None),
            };
            return Err(ReadError::new(&self.records.path, kind));
        }
        let [ids, labels] = columns;
        let batch = Batch::dense(self.next, self.dim(), Values::F64(values.into()));
        self.next += len as u64;
        Ok(Some(Batch { ids, labels, ..batch }))
    }
}
