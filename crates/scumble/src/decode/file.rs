//! Decoded rows as a file that other tools read. It is no release and has no certificate of its own: it names the one that
//! it was made from.

use super::{DecodeError, Decoder};
use crate::columns::Column;
use crate::files::atomic::{Pending, publish};
use crate::files::{WriteError, npy};
use crate::release::Release;
use arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows that are decoded and written at a time.
const BATCH: usize = 1 << 14;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum DecodeFileError {
    /// The release is not decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Decodes a release into `.npy` (float32 `[rows, k]`) or `.parquet` (`id`, `label` where there are any, `decoded`),
/// complete or not at all.
pub fn write(path: &Path, decoder: &Decoder, release: &Release) -> Result<(), DecodeFileError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let pending = || Pending::create(path);
    let failed = |error: io::Error| WriteError::io(path, &error);
    let written = match extension {
        "npy" => {
            let mut file = BufWriter::new(pending()?);
            let shape = [release.len() as u64, release.k() as u64];
            file.write_all(&npy::header("<f4", &shape)).map_err(failed)?;
            for_each_batch(decoder, release, |_, values| {
                values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes())).map_err(failed)
            })?;
            file.into_inner().map_err(io::IntoInnerError::into_error).map_err(failed)?
        }
        "parquet" => {
            let schema = schema(release);
            let other = |error: parquet::errors::ParquetError| WriteError::io(path, &io::Error::other(error));
            let mut writer = ArrowWriter::try_new(pending()?, schema.clone(), None).map_err(other)?;
            for_each_batch(decoder, release, |first, values| {
                let batch = batch(release, &schema, first, values);
                writer.write(&batch).map_err(other)
            })?;
            writer.into_inner().map_err(other)?
        }
        _ => {
            let message = "decoded rows must end in .npy or .parquet".into();
            return Err(WriteError::Io { path: path.to_owned(), message }.into());
        }
    };
    Ok(publish(vec![written])?)
}

fn for_each_batch(
    decoder: &Decoder,
    release: &Release,
    mut take: impl FnMut(usize, &[f32]) -> Result<(), WriteError>,
) -> Result<(), DecodeFileError> {
    let k = release.k();
    let mut values = vec![0.0; BATCH.min(release.len()) * k];
    for first in (0..release.len()).step_by(BATCH) {
        let values = &mut values[..BATCH.min(release.len() - first) * k];
        decoder.decode_rows(release, first, values)?;
        take(first, values)?;
    }
    Ok(())
}

fn schema(release: &Release) -> Arc<Schema> {
    let kind = |column: &Column| match column {
        Column::Int(_) => DataType::Int64,
        Column::Float(_) => DataType::Float64,
        Column::Text(_) => DataType::Utf8,
    };
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let mut fields = Vec::new();
    for (name, column) in [("id", release.ids()), ("label", release.labels())] {
        fields.extend(column.map(|column| Field::new(name, kind(column), false)));
    }
    fields.push(Field::new("decoded", DataType::FixedSizeList(item, release.k() as i32), false));
    let digest = release.certificate().digest.clone();
    Arc::new(Schema::new_with_metadata(fields, [("scumble.decoded_from".to_owned(), digest)].into()))
}

fn batch(release: &Release, schema: &Arc<Schema>, first: usize, values: &[f32]) -> RecordBatch {
    let rows = first..first + values.len() / release.k();
    let part = |column: &Column| -> ArrayRef {
        match column {
            Column::Int(values) => Arc::new(Int64Array::from(values[rows.clone()].to_vec())),
            Column::Float(values) => Arc::new(Float64Array::from(values[rows.clone()].to_vec())),
            Column::Text(values) => Arc::new(StringArray::from_iter_values(&values[rows.clone()])),
        }
    };
    let mut columns: Vec<ArrayRef> = [release.ids(), release.labels()].into_iter().flatten().map(part).collect();
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let numbers = Arc::new(Float32Array::from(values.to_vec()));
    columns.push(Arc::new(FixedSizeListArray::new(item, release.k() as i32, numbers, None)));
    RecordBatch::try_new(schema.clone(), columns).expect("columns of the schema's kinds")
}
