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
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use scumble::columns::Column;
use scumble::files::{Batch, ReadError, ReadErrorKind, ReadOptions, Shared, Values, find_column};
use scumble::release::Encoding;
use std::path::Path;
use std::sync::Arc;

/// The rows of a record batch whose first row has the number `first_row`. No copy is made of the vectors, but of unsigned
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
        let target = match values {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
            integer if integer.is_integer() => DataType::Int64,
            DataType::Boolean if !is_id => DataType::Int64,
            float if float.is_floating() && !is_id => DataType::Float64,
            other => {
                let kind = if is_id { ReadErrorKind::IdType } else { ReadErrorKind::LabelType };
                return Err(ReadError::new(self.path, kind(other.to_string())).at_column(name));
            }
        };
        self.no_nulls(array, 1, |_| name.clone())?;
        // A safe cast turns what does not fit into null, so no message can hold the value.
        let cast = cast_with_options(array, &target, &CastOptions { safe: true, ..Default::default() });
        let cast = cast.map_err(|e| self.fault(0, name, ReadErrorKind::Corrupt(e.to_string())))?;
        if let Some(nulls) = cast.nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = nulls.iter().position(|valid| !valid).unwrap_or(0);
            return Err(self.fault(row, name, ReadErrorKind::IntegerRange));
        }
        Ok(match target {
            DataType::Int64 => Column::Int(cast.as_primitive::<Int64Type>().values().to_vec()),
            DataType::Float64 => Column::Float(cast.as_primitive::<Float64Type>().values().to_vec()),
            _ => Column::Text(cast.as_string::<i32>().iter().flatten().map(str::to_owned).collect()),
        })
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
