//! Arrow record batches, as Python, Spark and their kin hand them over: the vectors are read in place.

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Float32Array, GenericListArray, Int8Array, Int16Array,
    OffsetSizeTrait, RecordBatch,
};
use arrow_schema::{DataType, Field};
use scumble::columns::Column;
use scumble::files::{Batch, ReadError, ReadErrorKind, ReadOptions, Shared, Values, find_column};
use scumble::release::Encoding;
use std::path::Path;
use std::sync::Arc;

/// The rows of a record batch whose first row has the number `first_row`. The vectors are not copied, except unsigned
/// integers of more than 8 bits. `name` stands for the path in errors.
pub fn from_arrow(name: &str, batch: &RecordBatch, options: &ReadOptions, first_row: u64) -> Result<Batch, ReadError> {
    let path = Path::new(name);
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    let table = Table { path, names: &names, first_row, batch };
    let vector = find_column(path, &names, Some(&options.column), "")?.expect("asked for");
    let (elements, dim) = table.elements(vector, options.dim)?;
    let values = values(&elements).map_err(|kind| ReadError::new(path, kind).at_column(&names[vector]))?;
    let carried = |asked: &Option<String>, is_id| {
        let Some(name) = asked else { return Ok(None) };
        find_column(path, &names, Some(name), "")?.map(|column| table.carried(column, is_id)).transpose()
    };
    Ok(Batch::dense(first_row, dim, values).with(carried(&options.id, true)?, carried(&options.label, false)?))
}

/// Decoded rows, with what an error about them must name.
struct Table<'a> {
    path: &'a Path,
    names: &'a [String],
    first_row: u64,
    batch: &'a RecordBatch,
}

impl Table<'_> {
    fn fault(&self, row: usize, column: impl std::fmt::Display, kind: ReadErrorKind) -> ReadError {
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
    fn carried(&self, column: usize, is_id: bool) -> Result<Column, ReadError> {
        let (name, array) = (&self.names[column], self.batch.column(column));
        let values = match array.data_type() {
            DataType::Dictionary(_, values) => values,
            plain => plain,
        };
        let taken = match values {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
            integer if integer.is_integer() => true,
            DataType::Boolean => !is_id,
            float => float.is_floating() && !is_id,
        };
        if !taken {
            let kind = if is_id { ReadErrorKind::IdType } else { ReadErrorKind::LabelType };
            return Err(ReadError::new(self.path, kind(values.to_string())).at_column(name));
        }
        self.no_nulls(array, 1, |_| name.clone())?;
        plain(array).map_err(|row| self.fault(row, name, ReadErrorKind::IntegerRange))
    }

    /// The elements of a list column whose rows all have `dim` of them; any dimension if none is given, set by row 0.
    fn elements(&self, column: usize, dim: Option<usize>) -> Result<(ArrayRef, usize), ReadError> {
        let (name, lists) = (&self.names[column], self.batch.column(column));
        let (elements, dim) = match lists.data_type() {
            DataType::List(_) => self.list(name, lists.as_list::<i32>(), dim)?,
            DataType::LargeList(_) => self.list(name, lists.as_list::<i64>(), dim)?,
            DataType::FixedSizeList(_, width) => {
                self.no_nulls(lists, 1, |_| name.clone())?;
                let lists = lists.as_fixed_size_list();
                let width = usize::try_from(*width).unwrap_or(0);
                let dim = dim.unwrap_or(width);
                if width != dim {
                    let kind = ReadErrorKind::Dimension { found: width as u64, expected: dim as u64 };
                    return Err(self.fault(0, name, kind));
                }
                (lists.values().slice(lists.value_offset(0) as usize, lists.len() * dim), dim)
            }
            other => {
                return Err(ReadError::new(self.path, ReadErrorKind::VectorType(other.to_string())).at_column(name));
            }
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
        self.no_nulls(lists, 1, |_| name.to_owned())?;
        let offsets = lists.offsets();
        let dim = dim.unwrap_or_else(|| offsets.lengths().next().unwrap_or(0));
        if let Some((row, found)) = offsets.lengths().enumerate().find(|(_, length)| *length != dim) {
            let kind = ReadErrorKind::Dimension { found: found as u64, expected: dim as u64 };
            return Err(self.fault(row, name, kind));
        }
        Ok((lists.values().slice(offsets[0].as_usize(), lists.len() * dim), dim))
    }
}

/// Texts, integers (and truth values) of 64 bits, or floats, in place of keys into a dictionary too. The row of an integer
/// beyond 64 signed bits, if there is one.
fn plain(array: &ArrayRef) -> Result<Column, usize> {
    let (values, rows): (&dyn Array, Vec<usize>) = match array.as_any_dictionary_opt() {
        Some(keys) if !keys.is_empty() => (keys.values(), keys.normalized_keys()),
        Some(keys) => (keys.values(), Vec::new()),
        None => (array, (0..array.len()).collect()),
    };
    fn integers<T: ArrowPrimitiveType<Native: TryInto<i64>>>(
        values: &dyn Array,
        rows: &[usize],
    ) -> Result<Column, usize> {
        let values = values.as_primitive::<T>().values();
        let whole = rows.iter().enumerate().map(|(row, &at)| values[at].try_into().map_err(|_| row));
        whole.collect::<Result<_, _>>().map(Column::Int)
    }
    fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(values: &dyn Array, rows: &[usize]) -> Result<Column, usize> {
        let values = values.as_primitive::<T>().values();
        Ok(Column::Float(rows.iter().map(|&at| values[at].into()).collect()))
    }
    fn texts<'a>(rows: &[usize], text: impl Fn(usize) -> &'a str) -> Result<Column, usize> {
        Ok(Column::Text(rows.iter().map(|&at| text(at).to_owned()).collect()))
    }
    match values.data_type() {
        DataType::Utf8 => texts(&rows, |at| values.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => texts(&rows, |at| values.as_string::<i64>().value(at)),
        DataType::Utf8View => texts(&rows, |at| values.as_string_view().value(at)),
        DataType::Boolean => {
            let values = values.as_boolean();
            Ok(Column::Int(rows.iter().map(|&at| values.value(at).into()).collect()))
        }
        DataType::Int8 => integers::<Int8Type>(values, &rows),
        DataType::Int16 => integers::<Int16Type>(values, &rows),
        DataType::Int32 => integers::<Int32Type>(values, &rows),
        DataType::Int64 => integers::<Int64Type>(values, &rows),
        DataType::UInt8 => integers::<UInt8Type>(values, &rows),
        DataType::UInt16 => integers::<UInt16Type>(values, &rows),
        DataType::UInt32 => integers::<UInt32Type>(values, &rows),
        DataType::UInt64 => integers::<UInt64Type>(values, &rows),
        DataType::Float16 => floats::<Float16Type>(values, &rows),
        DataType::Float32 => floats::<Float32Type>(values, &rows),
        DataType::Float64 => floats::<Float64Type>(values, &rows),
        other => unreachable!("{other} was refused before"),
    }
}

/// Numbers in place; unsigned ones of more than 8 bits in the next wider signed type, saturated in 64 bits.
fn values(array: &ArrayRef) -> Result<Values, ReadErrorKind> {
    fn shared<T: ArrowPrimitiveType>(array: &ArrayRef) -> Shared<T::Native>
    where
        T::Native: Send + Sync + 'static,
    {
        Shared::new(array.as_primitive::<T>().values().clone())
    }
    fn widened<T: ArrowPrimitiveType, W: Send + Sync + 'static>(
        array: &ArrayRef,
        widen: fn(T::Native) -> W,
    ) -> Shared<W> {
        array.as_primitive::<T>().values().iter().map(|x| widen(*x)).collect::<Vec<_>>().into()
    }
    Ok(match array.data_type() {
        DataType::Float16 => Values::F16(shared::<Float16Type>(array)),
        DataType::Float32 => Values::F32(shared::<Float32Type>(array)),
        DataType::Float64 => Values::F64(shared::<Float64Type>(array)),
        DataType::Int8 => Values::I8(shared::<Int8Type>(array)),
        DataType::Int16 => Values::I16(shared::<Int16Type>(array)),
        DataType::Int32 => Values::I32(shared::<Int32Type>(array)),
        DataType::Int64 => Values::I64(shared::<Int64Type>(array)),
        DataType::UInt8 => Values::U8(shared::<UInt8Type>(array)),
        DataType::UInt16 => Values::I32(widened::<UInt16Type, _>(array, i32::from)),
        DataType::UInt32 => Values::I64(widened::<UInt32Type, _>(array, i64::from)),
        DataType::UInt64 => Values::I64(widened::<UInt64Type, _>(array, |x| i64::try_from(x).unwrap_or(i64::MAX))),
        other => return Err(ReadErrorKind::ElementType(other.to_string())),
    })
}

/// Encoded rows as the Arrow array that a release's Parquet file has: FixedSizeList of numbers, or FixedSizeBinary.
pub fn sketch_array(encoding: Encoding, k: usize, bytes: &[u8]) -> ArrayRef {
    let (kind, numbers): (DataType, ArrayRef) = match encoding {
        Encoding::F32 => {
            let floats = bytes.as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x));
            (DataType::Float32, Arc::new(Float32Array::from_iter_values(floats)))
        }
        Encoding::I16 => {
            let integers = bytes.as_chunks::<2>().0.iter().map(|x| i16::from_le_bytes(*x));
            (DataType::Int16, Arc::new(Int16Array::from_iter_values(integers)))
        }
        Encoding::B8 => (DataType::Int8, Arc::new(Int8Array::from_iter_values(bytes.iter().map(|x| *x as i8)))),
        Encoding::B4 | Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => {
            let width = encoding.bytes_per_row(k);
            let mut sketches = FixedSizeBinaryBuilder::with_capacity(bytes.len() / width, width as i32);
            for sketch in bytes.chunks_exact(width) {
                sketches.append_value(sketch).expect("of the builder's width");
            }
            return Arc::new(sketches.finish());
        }
    };
    let field = Arc::new(Field::new_list_field(kind, false));
    Arc::new(FixedSizeListArray::new(field, k as i32, numbers, None))
}
