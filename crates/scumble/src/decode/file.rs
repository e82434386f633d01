//! Decoded rows as a file that other tools read. It is not a release and has no certificate of its own: as Parquet
//! it names the one that it was made from.

use super::{DecodeError, Decoder};
use crate::columns::Column;
use crate::error::{Fault, Kind};
use crate::files::atomic::{Pending, publish};
use crate::files::parquet::{FileWriter, Sketch};
use crate::files::{WriteError, npy};
use crate::release::Release;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Rows that are decoded and written at a time.
const BATCH: usize = 1 << 14;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeFileError {
    /// The release is not decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Fault for DecodeFileError {
    fn kind(&self) -> Kind {
        match self {
            Self::Decode(error) => error.kind(),
            Self::Write(error) => error.kind(),
        }
    }
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
            let columns = [release.ids(), release.labels()];
            let kinds = columns.map(|column| column.map(Column::kind));
            let writer = FileWriter::new(pending()?, Sketch::Floats(release.k()), kinds).map_err(failed)?;
            let mut writer = writer.called("decoded");
            for_each_batch(decoder, release, |first, values| {
                let rows = first..first + values.len() / release.k();
                let parts: Vec<Column> =
                    columns.into_iter().flatten().map(|column| column.slice(rows.clone())).collect();
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                writer.write(rows.len(), &bytes, &parts.iter().collect::<Vec<_>>()).map_err(failed)
            })?;
            let from = ("scumble.decoded_from", release.certificate().digest.as_str());
            writer.finish(&[from]).map_err(failed)?
        }
        _ => {
            let (path, endings) = (path.to_owned(), ".npy or .parquet");
            return Err(WriteError::Ending { path, what: "decoded rows", endings }.into());
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
