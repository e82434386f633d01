//! Arrow record batches, as Python, Spark and their kin hand them over: the vectors are read where they lie.

use super::columns::find_column;
use super::parquet::{Decoded, carried_kind, list_element, values};
use super::{Batch, ReadError, ReadOptions};
use arrow::array::RecordBatch;
use std::path::Path;

/// The rows of a record batch whose first row has the number `first_row`. No copy is made of the vectors, but of unsigned
/// integers of more than 8 bits. `name` stands for the path in errors.
pub fn from_arrow(name: &str, batch: &RecordBatch, options: &ReadOptions, first_row: u64) -> Result<Batch, ReadError> {
    let path = Path::new(name);
    let schema = batch.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let rows = Decoded { path, first_row, batch };
    let vector = find_column(path, &names, Some(&options.column), "")?.expect("asked for");
    let element = list_element(schema.field(vector).data_type())
        .map_err(|kind| ReadError::new(path, kind).at_column(&names[vector]))?;
    let (elements, dim) = rows.elements(&options.column, options.dim)?;
    let carried = |asked: Option<&str>, is_id| {
        let Some(place) = asked.map(|name| find_column(path, &names, Some(name), "")).transpose()?.flatten() else {
            return Ok(None);
        };
        let kind = carried_kind(schema.field(place).data_type(), is_id)
            .map_err(|kind| ReadError::new(path, kind).at_column(&names[place]))?;
        rows.carried(&names[place], kind).map(Some)
    };
    let (ids, labels) = (carried(options.id.as_deref(), true)?, carried(options.label.as_deref(), false)?);
    Ok(Batch { ids, labels, ..Batch::dense(first_row, dim, values(&elements, element)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::files::ReadErrorKind;
    use arrow::array::{Array, ArrayRef, FixedSizeListArray, Float32Array, Int32Array, StringArray};
    use arrow::datatypes::{DataType, Field, Int32Type};
    use std::sync::Arc;

    fn batch(vectors: ArrayRef) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int32Array::from(vec![7, 5]));
        let labels: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        RecordBatch::try_from_iter([("vector", vectors), ("key", ids), ("class", labels)]).unwrap()
    }

    fn options() -> ReadOptions {
        ReadOptions { id: Some("key".into()), label: Some("class".into()), dim: Some(3), ..Default::default() }
    }

    #[test]
    fn vectors_are_not_copied() {
        let numbers = Float32Array::from_iter_values((0..6).map(|x| x as f32));
        let place = numbers.values().as_ptr();
        let field = Arc::new(Field::new_list_field(DataType::Float32, false));
        let vectors = FixedSizeListArray::new(field, 3, Arc::new(numbers), None);
        let whole = from_arrow("batch", &batch(Arc::new(vectors.clone())), &options(), 10).unwrap();
        let scumble_core::vectors::Layout::Dense { values: scumble_core::vectors::Scalars::F32(values), .. } =
            whole.rows().layout()
        else {
            panic!("dense floats")
        };
        assert_eq!((values.as_ptr(), values), (place, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]));
        assert_eq!(whole.ids(), Some(&Column::Int(vec![7, 5])));
        assert_eq!(whole.labels(), Some(&Column::Text(vec!["a".into(), "b".into()])));
    }

    #[test]
    fn ragged_null_and_missing_are_named() {
        let lists = |second: Vec<Option<i32>>| -> ArrayRef {
            let first = Some(vec![Some(1), Some(2), Some(3)]);
            Arc::new(arrow::array::ListArray::from_iter_primitive::<Int32Type, _, _>([first, Some(second)]))
        };
        let fault = |vectors, options: &ReadOptions| from_arrow("batch", &batch(vectors), options, 10).unwrap_err();
        let ragged = fault(lists(vec![Some(1)]), &options());
        assert_eq!((ragged.row, ragged.kind), (Some(11), ReadErrorKind::Dimension { found: 1, expected: 3 }));
        assert_eq!(fault(lists(vec![Some(1), None, Some(2)]), &options()).kind, ReadErrorKind::Null);
        let missing = ReadOptions { id: Some("nobody".into()), ..options() };
        let whole = lists(vec![Some(1), Some(2), Some(3)]);
        assert!(matches!(fault(whole, &missing).kind, ReadErrorKind::NoSuchColumn { .. }));
    }

    #[test]
    fn empty_batches_are_fine() {
        let field = Arc::new(Field::new_list_field(DataType::Float32, true));
        let none = FixedSizeListArray::new(field, 3, Arc::new(Float32Array::from(Vec::<f32>::new())), None);
        assert_eq!(none.len(), 0);
        let empty = RecordBatch::try_from_iter([("vector", Arc::new(none) as ArrayRef)]).unwrap();
        let options = ReadOptions { dim: Some(3), ..Default::default() };
        assert_eq!(from_arrow("batch", &empty, &options, 0).unwrap().rows().len(), 0);
    }
}
