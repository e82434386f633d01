//! CSV and TSV. One column may be the id, one the label; columns called `id` and `label` are never attributes, whether they
//! are asked for or not; all others are attributes, in order.
//!
//! Whether the first line is a header is decided by rule, unless it is stated: all text is a header, all numbers are a
//! row (columns are then called 0, 1, 2, ...), and a mixture is refused. Taking a row for a header would lose the row;
//! taking a header for a row would release names. As nobody knows for sure, errors name columns by number: a name might
//! be a cell.
//!
//! Where there is an id or a label, a first pass finds whether its cells are all integers (or, for labels, floats).

use super::batch::{Batch, Values};
use super::error::{self, ReadError, ReadErrorKind};
use super::input::{self, RowDone, RowLimited};
use super::{ReadOptions, Source};
use crate::columns::{Column, ColumnKind};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::path::{Path, PathBuf};

/// Records of a file, with a bound on their length.
struct Records {
    path: PathBuf,
    reader: Reader<RowLimited>,
    done: RowDone,
    names: Vec<String>,
    header: bool,
    record: ByteRecord,
    held: bool, // the record is the first line, which is a row
    row: u64,
}

impl Records {
    fn open(path: &Path, delimiter: u8, header: Option<bool>) -> Result<Self, ReadError> {
        let (stream, done) = RowLimited::new(input::open_stream(path)?);
        let mut builder = ReaderBuilder::new();
        let builder = builder.delimiter(delimiter).has_headers(false).buffer_capacity(1 << 16);
        let (mut reader, mut record) = (builder.from_reader(stream), ByteRecord::new());
        let found = reader.read_byte_record(&mut record).map_err(|e| csv_error(path, &e, None))?;
        done.reset();
        if !found || record.is_empty() {
            return Err(ReadError::new(path, ReadErrorKind::NoRows));
        }
        let fault = |kind| ReadError::new(path, kind).at_line(1);
        let cells = record.iter().map(|cell| std::str::from_utf8(cell.trim_ascii()));
        let cells: Vec<_> = cells.collect::<Result<_, _>>().map_err(|_| fault(ReadErrorKind::NotUtf8))?;
        let header = is_header(&cells, header).map_err(fault)?;
        let names = match header {
            true => cells.iter().map(|&cell| cell.to_owned()).collect(),
            false => (0..cells.len()).map(|column| column.to_string()).collect(),
        };
        if header {
            record.clear();
        }
        Ok(Self { path: path.to_owned(), reader, done, names, header, record, held: !header, row: 0 })
    }

    /// Reads the next row into `record`; false at the end.
    fn advance(&mut self) -> Result<bool, ReadError> {
        if std::mem::take(&mut self.held) {
            return Ok(true);
        }
        self.row += u64::from(!self.record.is_empty());
        let more = self.reader.read_byte_record(&mut self.record);
        self.done.reset();
        let more = more.map_err(|e| csv_error(&self.path, &e, Some(self.row)))?;
        if !more && self.done.quote_is_open() {
            return Err(ReadError::new(&self.path, ReadErrorKind::OpenQuote));
        }
        if more && self.names.len() == 1 && self.skipped_lines() {
            return Err(ReadError::new(&self.path, ReadErrorKind::MissingCell).at_row(self.row).at_column(0));
        }
        Ok(more)
    }

    /// Were there empty lines before the record? The parser skips them; in a file of one column, each is an empty cell.
    fn skipped_lines(&self) -> bool {
        let Some(start) = self.record.position() else { return false };
        let breaks = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.reader.position().line() - start.line() > breaks + 1
    }

    fn fault(&self, column: usize, kind: ReadErrorKind) -> ReadError {
        let fault = ReadError::new(&self.path, kind).at_row(self.row).at_column(column);
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

    /// The columns with this name.
    fn called(&self, name: &str) -> impl Iterator<Item = usize> {
        self.names.iter().enumerate().filter(move |(_, n)| *n == name).map(|(at, _)| at)
    }

    /// The one column with this name, if there is one.
    fn find(&self, name: &str) -> Result<Option<usize>, ReadError> {
        let mut places = self.called(name);
        match (places.next(), places.next()) {
            (_, Some(_)) => Err(ReadError::new(&self.path, ReadErrorKind::DuplicateColumn(error::one_line(name)))),
            (place, None) => Ok(place),
        }
    }

    /// The column that was asked for.
    fn asked(&self, name: Option<&str>) -> Result<Option<usize>, ReadError> {
        let Some(name) = name else { return Ok(None) };
        let kind = || ReadErrorKind::NoSuchName { name: error::one_line(name), columns: self.names.len() };
        self.find(name)?.map(Some).ok_or_else(|| ReadError::new(&self.path, kind()))
    }
}

/// Is the first line a header? As `said`, or by rule.
fn is_header(cells: &[&str], said: Option<bool>) -> Result<bool, ReadErrorKind> {
    let is_number = |cell: &&str| cell.parse::<f64>().is_ok();
    let unnamed = cells.iter().any(|cell| cell.is_empty());
    match said {
        Some(false) => Ok(false),
        None if cells[0].is_empty() => Err(ReadErrorKind::UnnamedColumn),
        None if cells.iter().all(|cell| cell.is_empty() || is_number(cell)) => {
            let counting = cells.len() > 1 && cells.iter().enumerate().all(|(i, cell)| *cell == i.to_string());
            if counting { Err(ReadErrorKind::CountingHeader) } else { Ok(false) }
        }
        None if cells.iter().any(is_number) => Err(ReadErrorKind::MixedHeader),
        _ if unnamed => Err(ReadErrorKind::UnnamedColumn),
        _ => Ok(true),
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
    kind: ColumnKind,
}

/// Finds the kind of each carried column over the whole file; also its number of rows.
fn kinds(mut records: Records, columns: [Option<usize>; 3]) -> Result<([Option<Carried>; 3], u64), ReadError> {
    let mut carried = columns.map(|at| at.map(|at| Carried { at, kind: ColumnKind::Int }));
    let mut rows = 0;
    while records.advance()? {
        for (place, is_id) in carried.iter_mut().zip([true, false, true]) {
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
    carried: [Option<Carried>; 3],
    rows: Option<u64>,
    next: u64,
}

pub(super) fn open(path: &Path, delimiter: u8, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    let records = Records::open(path, delimiter, options.header)?;
    let id = records.asked(options.id.as_deref())?;
    let label = records.asked(options.label.as_deref())?;
    let person = records.asked(options.person.as_deref())?;
    let columns = [id, label, person];
    let others: Vec<_> = ["id", "label"].iter().flat_map(|name| records.called(name)).collect();
    let is_attribute = |at: &usize| !others.contains(at) && !columns.contains(&Some(*at));
    let attributes: Vec<_> = (0..records.names.len()).filter(is_attribute).collect();
    let fault = |kind| Err(ReadError::new(path, kind));
    if attributes.is_empty() {
        return fault(ReadErrorKind::NoColumns);
    }
    if let Some(expected) = options.dim.filter(|dim| *dim != attributes.len()) {
        return fault(ReadErrorKind::Dimension { found: attributes.len() as u64, expected: expected as u64 });
    }
    if columns == [None; 3] {
        return Ok(Box::new(Table { records, attributes, carried: [None; 3], rows: None, next: 0 }));
    }
    let (carried, rows) = kinds(records, columns)?;
    if rows == 0 {
        return fault(ReadErrorKind::NoRows);
    }
    let records = Records::open(path, delimiter, options.header)?;
    Ok(Box::new(Table { records, attributes, carried, rows: Some(rows), next: 0 }))
}

/// Labels: the column `label`, or the only one.
pub(super) fn read_column(path: &Path, delimiter: u8) -> Result<Column, ReadError> {
    let records = Records::open(path, delimiter, None)?;
    let at = match records.find("label")? {
        Some(at) => at,
        None if records.names.len() == 1 => 0,
        None => return Err(ReadError::new(path, ReadErrorKind::NoLabel(records.names.len()))),
    };
    let ([_, carried, _], _) = kinds(records, [None, Some(at), None])?;
    let mut records = Records::open(path, delimiter, None)?;
    let mut column = Column::new(carried.expect("asked for").kind);
    while records.advance()? {
        if !column.push_cell(records.text(at)?) {
            return Err(records.fault(at, ReadErrorKind::Changed));
        }
    }
    Ok(column)
}

/// Hands over the persons and the ids of all rows, and nothing else.
pub(super) fn names(
    path: &Path,
    delimiter: u8,
    options: &ReadOptions,
    visit: &mut dyn FnMut(&Column, Option<&Column>),
) -> Result<(), ReadError> {
    const ROWS: usize = 1 << 12;
    let mut records = Records::open(path, delimiter, options.header)?;
    let (person, id) = (records.asked(options.person.as_deref())?, records.asked(options.id.as_deref())?);
    let person = person.expect("a column of persons");
    let mut more = true;
    while more {
        let (mut persons, mut ids) = (Vec::new(), Vec::new());
        while persons.len() < ROWS && more {
            more = records.advance()?;
            if more {
                persons.push(records.text(person)?.to_owned());
                ids.extend(id.map(|id| records.text(id).map(str::to_owned)).transpose()?);
            }
        }
        visit(&Column::Text(persons), id.map(|_| Column::Text(ids)).as_ref());
    }
    Ok(())
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

    fn header(&self) -> Option<bool> {
        Some(self.records.header)
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
        let [ids, labels, persons] = columns;
        let batch = Batch::dense(self.next, self.dim(), Values::F64(values.into()));
        self.next += len as u64;
        Ok(Some(Batch { ids, labels, persons, ..batch }))
    }
}
