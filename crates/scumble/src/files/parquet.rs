//! Parquet: vectors in a list column, ids and labels beside them; one file, or a folder of files in name order.
//!
//! Row groups are decoded in small batches, page by page, so that memory does not grow with their size.

use super::array::{Element, saturate};
use super::batch::{Batch, Values};
use super::columns::find_column;
use super::error::{self, ReadError, ReadErrorKind};
use super::input;
use super::{ReadOptions, Source};
use crate::columns::{Column, Kind};
use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, OffsetSizeTrait, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"PAR1";

/// Most rows that are decoded at once, however narrow they are.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// A file whose footer has been read.
pub(super) struct Opened {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<File>,
    names: Vec<String>,
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Self, ReadError> {
        let file = input::open_file(path)?;
        check_magic(path, &file)?;
        let builder =
            guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| parquet_error(path, &e)))?;
        let names = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
        Ok(Self { path: path.to_owned(), builder, names })
    }

    pub(super) fn find(&self, asked: Option<&str>, default: &str) -> Result<Option<usize>, ReadError> {
        find_column(&self.path, &self.names, asked, default)
    }

    pub(super) fn rows(&self) -> u64 {
        self.builder.metadata().file_metadata().num_rows().max(0) as u64
    }

    fn data_type(&self, root: usize) -> &DataType {
        self.builder.schema().field(root).data_type()
    }

    /// The text stored under a key of the footer.
    pub(super) fn metadata(&self, key: &str) -> Option<String> {
        let pairs = self.builder.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.clone()
    }

    /// Decodes the columns `roots`, `rows` at a time; they come in the order of the file.
    pub(super) fn read(self, roots: &[usize], rows: usize, first_row: u64) -> Result<Batches, ReadError> {
        let Self { path, builder, .. } = self;
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
        let reader = guarded(&path, || {
            builder.with_projection(mask).with_batch_size(rows).build().map_err(|e| parquet_error(&path, &e))
        })?;
        Ok(Batches { path, reader, row: first_row })
    }
}

/// The decoder panics on some damaged files. It holds nothing that such a panic could leave in a bad state for others.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    outcome.unwrap_or_else(|_| Err(ReadError::new(path, ReadErrorKind::Corrupt("cannot be decoded".to_owned()))))
}

/// Decoded rows of one file.
pub(super) struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    row: u64,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let fault =
            |e: &ArrowError| ReadError::new(&self.path, ReadErrorKind::Corrupt(error::one_line(&e.to_string())));
        let batch = guarded(&self.path, || self.reader.next().transpose().map_err(|e| fault(&e)));
        let batch = batch.map_err(|e| e.at_row(self.row)).transpose()?;
        self.row += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        Some(batch)
    }
}

fn check_magic(path: &Path, mut file: &File) -> Result<(), ReadError> {
    let mut ends = [[0; 4]; 2];
    let read = (|| {
        file.read_exact(&mut ends[0])?;
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut ends[1])
    })();
    match read {
        Err(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => Err(ReadError::io(path, &e)),
        Ok(()) if ends == [*MAGIC; 2] => Ok(()),
        Ok(()) if ends[0] == *MAGIC => {
            Err(ReadError::new(path, ReadErrorKind::Corrupt("no footer, the file is cut short".to_owned())))
        }
        _ => Err(ReadError::new(path, ReadErrorKind::WrongMagic("a Parquet"))),
    }
}

fn parquet_error(path: &Path, fault: &ParquetError) -> ReadError {
    if let ParquetError::External(inner) = fault
        && let Some(e) = inner.downcast_ref::<std::io::Error>()
    {
        return ReadError::io(path, e);
    }
    ReadError::new(path, ReadErrorKind::Corrupt(error::one_line(&fault.to_string())))
}

/// The Parquet files of a data set, in name order. Hidden files and markers such as `_SUCCESS` are not part of it.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fault = |e: std::io::Error| ReadError::io(path, &e);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            return Err(ReadError::new(&path, ReadErrorKind::Subfolder));
        }
        if name.to_lowercase().ends_with(".parquet") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(ReadError::new(path, ReadErrorKind::NoParquetFiles));
    }
    files.sort();
    Ok(files)
}

/// The columns of a data set: the same in all its files.
#[derive(Debug, Clone, PartialEq)]
struct Fields {
    vector: String,
    element: Element,
    id: Option<(String, Kind)>,
    label: Option<(String, Kind)>,
}

impl Fields {
    fn new(file: &Opened, options: &ReadOptions) -> Result<Self, ReadError> {
        let vector = file.find(Some(&options.column), "")?.expect("asked for");
        let carried = |asked: &Option<String>, default, is_id| {
            let root = file.find(asked.as_deref(), default)?;
            root.map(|root| Ok((file.names[root].clone(), kind(file, root, is_id)?))).transpose()
        };
        Ok(Self {
            vector: options.column.clone(),
            element: element(file, vector)?,
            id: carried(&options.id, "id", true)?,
            label: carried(&options.label, "label", false)?,
        })
    }

    fn roots(&self, file: &Opened) -> Vec<usize> {
        let names = [Some(&self.vector), self.id.as_ref().map(|(n, _)| n), self.label.as_ref().map(|(n, _)| n)];
        let place = |name: &String| file.names.iter().position(|n| n == name).expect("checked when it was opened");
        names.into_iter().flatten().map(place).collect()
    }
}

/// The element type of a list column.
fn element(file: &Opened, root: usize) -> Result<Element, ReadError> {
    list_element(file.data_type(root)).map_err(|kind| ReadError::new(&file.path, kind).at_column(&file.names[root]))
}

pub(super) fn list_element(list: &DataType) -> Result<Element, ReadErrorKind> {
    let name = |data_type: &DataType| error::one_line(&data_type.to_string());
    let (DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _)) = list else {
        return Err(ReadErrorKind::VectorType(name(list)));
    };
    Ok(match field.data_type() {
        DataType::Float16 => Element::F16,
        DataType::Float32 => Element::F32,
        DataType::Float64 => Element::F64,
        DataType::Int8 => Element::I8,
        DataType::Int16 => Element::I16,
        DataType::Int32 => Element::I32,
        DataType::Int64 => Element::I64,
        DataType::UInt8 => Element::U8,
        DataType::UInt16 => Element::U16,
        DataType::UInt32 => Element::U32,
        DataType::UInt64 => Element::U64,
        other => return Err(ReadErrorKind::ElementType(name(other))),
    })
}

/// What a column of ids or labels holds.
pub(super) fn kind(file: &Opened, root: usize, is_id: bool) -> Result<Kind, ReadError> {
    carried_kind(file.data_type(root), is_id)
        .map_err(|kind| ReadError::new(&file.path, kind).at_column(&file.names[root]))
}

pub(super) fn carried_kind(data_type: &DataType, is_id: bool) -> Result<Kind, ReadErrorKind> {
    let data_type = match data_type {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    };
    Ok(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        integer if integer.is_integer() => Kind::Int,
        DataType::Boolean if !is_id => Kind::Int,
        float if float.is_floating() && !is_id => Kind::Float,
        other => {
            let name = error::one_line(&other.to_string());
            return Err(if is_id { ReadErrorKind::IdType(name) } else { ReadErrorKind::LabelType(name) });
        }
    })
}

/// A block of decoded rows, with what an error about it must name.
pub(super) struct Decoded<'a> {
    pub(super) path: &'a Path,
    pub(super) first_row: u64,
    pub(super) batch: &'a RecordBatch,
}

impl Decoded<'_> {
    pub(super) fn column(&self, name: &str) -> Result<&ArrayRef, ReadError> {
        let column = self.batch.column_by_name(name);
        let column = column.ok_or_else(|| ReadError::new(self.path, ReadErrorKind::Changed))?;
        self.no_nulls(column, 1, |_| name.to_owned())?;
        Ok(column)
    }

    pub(super) fn fault(&self, row: usize, column: impl std::fmt::Display, kind: ReadErrorKind) -> ReadError {
        ReadError::new(self.path, kind).at_row(self.first_row + row as u64).at_column(column)
    }

    /// The first null of `array`, of which `width` elements make a row.
    fn no_nulls(&self, array: &dyn Array, width: usize, name: impl Fn(usize) -> String) -> Result<(), ReadError> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match nulls.and_then(|nulls| nulls.iter().position(|valid| !valid)) {
            Some(at) => Err(self.fault(at / width, name(at % width), ReadErrorKind::Null)),
            None => Ok(()),
        }
    }

    /// Ids or labels.
    pub(super) fn carried(&self, name: &str, kind: Kind) -> Result<Column, ReadError> {
        let array = self.column(name)?;
        let target = match kind {
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text => DataType::Utf8,
        };
        // A safe cast turns what does not fit into null, so no message can hold the value.
        let cast = cast_with_options(array, &target, &CastOptions { safe: true, ..Default::default() });
        let cast = cast.map_err(|e| self.fault(0, name, ReadErrorKind::Corrupt(error::one_line(&e.to_string()))))?;
        if cast.null_count() > 0 {
            let row = cast.nulls().and_then(|nulls| nulls.iter().position(|valid| !valid)).unwrap_or(0);
            return Err(self.fault(row, name, ReadErrorKind::IntegerRange));
        }
        Ok(match kind {
            Kind::Int => Column::Int(cast.as_primitive::<Int64Type>().values().to_vec()),
            Kind::Float => Column::Float(cast.as_primitive::<Float64Type>().values().to_vec()),
            Kind::Text => Column::Text(cast.as_string::<i32>().iter().flatten().map(str::to_owned).collect()),
        })
    }

    /// The elements of a list column whose rows all have `dim` of them; any dimension if none is given, set by row 0.
    pub(super) fn elements(&self, name: &str, dim: Option<usize>) -> Result<(ArrayRef, usize), ReadError> {
        let lists = self.column(name)?;
        let (elements, dim) = match lists.data_type() {
            DataType::List(_) => self.list(name, lists.as_list::<i32>(), dim)?,
            DataType::LargeList(_) => self.list(name, lists.as_list::<i64>(), dim)?,
            DataType::FixedSizeList(_, width) => {
                let lists = lists.as_fixed_size_list();
                let width = usize::try_from(*width).unwrap_or(0);
                let dim = dim.unwrap_or(width);
                if width != dim {
                    let kind = ReadErrorKind::Dimension { found: width as u64, expected: dim as u64 };
                    return Err(self.fault(0, name, kind));
                }
                (lists.values().slice(lists.value_offset(0) as usize, lists.len() * dim), dim)
            }
            other => return Err(self.fault(0, name, ReadErrorKind::VectorType(error::one_line(&other.to_string())))),
        };
        if dim == 0 {
            return Err(self.fault(0, name, ReadErrorKind::NoColumns));
        }
        self.no_nulls(&elements, dim, |j| format!("{name}[{j}]"))?;
        Ok((elements, dim))
    }

    fn list<O: OffsetSizeTrait>(
        &self,
        name: &str,
        lists: &GenericListArray<O>,
        dim: Option<usize>,
    ) -> Result<(ArrayRef, usize), ReadError> {
        let offsets = lists.offsets();
        let dim = dim.unwrap_or(lists.value_length(0).as_usize());
        if let Some((row, found)) = offsets.lengths().enumerate().find(|(_, length)| *length != dim) {
            let kind = ReadErrorKind::Dimension { found: found as u64, expected: dim as u64 };
            return Err(self.fault(row, name, kind));
        }
        let start = offsets[0].as_usize();
        Ok((lists.values().slice(start, lists.len() * dim), dim))
    }
}

/// Numbers without a copy; unsigned ones widen as in [`Element::decode`].
pub(super) fn values(array: &ArrayRef, element: Element) -> Values {
    match element {
        Element::F16 => Values::F16(array.as_primitive::<Float16Type>().values().clone()),
        Element::F32 => Values::F32(array.as_primitive::<Float32Type>().values().clone()),
        Element::F64 => Values::F64(array.as_primitive::<Float64Type>().values().clone()),
        Element::I8 => Values::I8(array.as_primitive::<Int8Type>().values().clone()),
        Element::I16 => Values::I16(array.as_primitive::<Int16Type>().values().clone()),
        Element::I32 => Values::I32(array.as_primitive::<Int32Type>().values().clone()),
        Element::I64 => Values::I64(array.as_primitive::<Int64Type>().values().clone()),
        Element::U8 | Element::Bool => Values::U8(array.as_primitive::<UInt8Type>().values().clone()),
        Element::U16 => {
            Values::I32(array.as_primitive::<UInt16Type>().values().iter().map(|x| i32::from(*x)).collect())
        }
        Element::U32 => {
            Values::I64(array.as_primitive::<UInt32Type>().values().iter().map(|x| i64::from(*x)).collect())
        }
        Element::U64 => Values::I64(array.as_primitive::<UInt64Type>().values().iter().map(|x| saturate(*x)).collect()),
    }
}

struct ParquetSource {
    fields: Fields,
    dim: usize,
    rows: u64,
    next: u64,
    files: std::vec::IntoIter<PathBuf>,
    current: PathBuf,
    reader: Option<Batches>,
    pending: Option<RecordBatch>,
}

pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>, ReadError> {
    let files = files(path)?;
    let mut fields: Option<Fields> = None;
    let (mut dim, mut rows) = (None, 0);
    for file in &files {
        let opened = Opened::new(file)?;
        let found = Fields::new(&opened, options)?;
        match &fields {
            Some(first) if *first != found => {
                let first = files[0].file_name().unwrap_or_default().to_string_lossy();
                return Err(ReadError::new(file, ReadErrorKind::SchemaDiffers(error::one_line(&first))));
            }
            Some(_) => {}
            None => fields = Some(found.clone()),
        }
        if opened.rows() > 0 && dim.is_none() {
            dim = Some(first_length(file, &found.vector)?);
        }
        rows += opened.rows();
    }
    let (Some(fields), Some(dim)) = (fields, dim) else { return Err(ReadError::new(path, ReadErrorKind::NoRows)) };
    if let Some(expected) = options.dim.filter(|expected| *expected != dim) {
        let kind = ReadErrorKind::Dimension { found: dim as u64, expected: expected as u64 };
        return Err(ReadError::new(path, kind));
    }
    let files = files.into_iter();
    let current = PathBuf::new();
    Ok(Box::new(ParquetSource { fields, dim, rows, next: 0, files, current, reader: None, pending: None }))
}

/// Length of the first list: it sets the dimension of the data set.
fn first_length(path: &Path, name: &str) -> Result<usize, ReadError> {
    let file = Opened::new(path)?;
    let root = file.find(Some(name), "")?.expect("asked for");
    let batch = file.read(&[root], 1, 0)?.next();
    let batch = batch.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))??;
    Ok(Decoded { path, first_row: 0, batch: &batch }.elements(name, None)?.1)
}

/// Labels alone: the column `label`, or the only one.
pub(super) fn read_labels(path: &Path) -> Result<Column, ReadError> {
    let mut labels: Option<Column> = None;
    let mut first_row = 0;
    for path in files(path)? {
        let file = Opened::new(&path)?;
        let root = match file.find(None, "label")? {
            Some(root) => root,
            None if file.names.len() == 1 => 0,
            None => return Err(ReadError::new(&path, ReadErrorKind::AmbiguousLabel(error::list(&file.names)))),
        };
        let (kind, name) = (kind(&file, root, false)?, file.names[root].clone());
        for batch in file.read(&[root], MOST_ROWS, first_row)? {
            let batch = batch?;
            let more = Decoded { path: &path, first_row, batch: &batch }.carried(&name, kind)?;
            first_row += batch.num_rows() as u64;
            if !labels.get_or_insert_with(|| Column::new(kind)).append(more) {
                return Err(ReadError::new(&path, ReadErrorKind::SchemaDiffers("the first file".to_owned())));
            }
        }
    }
    labels.ok_or_else(|| ReadError::new(path, ReadErrorKind::NoRows))
}

impl ParquetSource {
    /// Decoded rows that have not been handed out.
    fn decode(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if let Some(batch) = self.pending.take().filter(|batch| batch.num_rows() > 0) {
                return Ok(Some(batch));
            }
            if let Some(batch) = self.reader.as_mut().and_then(Iterator::next) {
                self.pending = Some(batch?);
                continue;
            }
            let Some(path) = self.files.next() else { return Ok(None) };
            let file = Opened::new(&path)?;
            let rows = input::batch_rows(MOST_ROWS, self.dim * self.fields.element.size());
            let roots = self.fields.roots(&file);
            self.reader = Some(file.read(&roots, rows, self.next)?);
            self.current = path;
        }
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
        let Some(decoded) = self.decode()? else {
            let kind = ReadErrorKind::Count { found: self.next, expected: self.rows };
            return if self.next == self.rows { Ok(None) } else { Err(ReadError::new(&self.current, kind)) };
        };
        let len = decoded.num_rows().min(max_rows.max(1));
        let batch = decoded.slice(0, len);
        self.pending = Some(decoded.slice(len, decoded.num_rows() - len));
        let rows = Decoded { path: &self.current, first_row: self.next, batch: &batch };
        let (elements, _) = rows.elements(&self.fields.vector, Some(self.dim))?;
        let carried =
            |field: &Option<(String, Kind)>| field.as_ref().map(|(name, kind)| rows.carried(name, *kind)).transpose();
        let (ids, labels) = (carried(&self.fields.id)?, carried(&self.fields.label)?);
        let dense = Batch::dense(self.next, self.dim, values(&elements, self.fields.element));
        self.next += len as u64;
        Ok(Some(Batch { ids, labels, ..dense }))
    }
}
