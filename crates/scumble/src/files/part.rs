//! Parts of a release that others put together, such as the tasks of a Spark job: row groups of a Parquet file in, a Parquet
//! file out.
//!
//! A part has no certificate: [`FilesHasher`](super::FilesHasher) reads all of them and makes the one of the whole. Its noise
//! comes from the key of the job, so that a task that runs twice writes the same bytes.

use super::error::{ReadError, WriteError};
use super::parquet::{self, FileWriter, MECHANISM_KEY};
use super::release::{Job, JobError, Progress, stream};
use super::writer::{ReleasedBlock, check_text, stored};
use super::{ReadOptions, Source};
use crate::certificate::hex;
use crate::columns::Column;
use scumble_core::release::Releaser;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A part to be made.
pub struct Part<'a> {
    /// The Parquet file with the private rows.
    pub input: PathBuf,
    /// Its row groups that are released.
    pub groups: Range<usize>,
    /// How to read it. The column of ids is needed: noise is a function of the id.
    pub reading: ReadOptions,
    /// Do the ids leave as well?
    pub with_ids: bool,
    /// The file to write. An existing one is never replaced; a failed one stays, for the maker of the folder to remove.
    pub out: PathBuf,
    /// As in a [`Job`].
    pub progress: Option<&'a Progress<'a>>,
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({} {:?} to {})", self.input.display(), self.groups, self.out.display())
    }
}

/// (rows, bytes) of every row group of a Parquet file; an error if its columns are not there, or could not be read.
pub fn row_groups(path: &Path, reading: &ReadOptions) -> Result<Vec<(u64, u64)>, ReadError> {
    parquet::row_groups(path, reading)
}

/// Releases the rows of a part with keyed noise. Nobody is charged here: the one who assembles the parts pays once.
pub fn release_part(part: &Part<'_>, releaser: &Releaser) -> Result<(), JobError> {
    if releaser.keyed_noise().is_none() || part.reading.id.is_none() {
        return Err(JobError::PartWithoutKey);
    }
    let Part { input, groups, reading, with_ids, out, progress } = part;
    let source: Box<dyn Source> = parquet::open_groups(input, groups.clone(), reading)?;
    let job = Job { input: input.clone(), out: out.clone(), progress: *progress, ..Job::default() };
    let fault = |e: std::io::Error| WriteError::io(out, &e);
    let mut file = Some(BufWriter::new(File::create_new(out).map_err(fault)?));
    let (sketch, mut writer) = (stored(releaser.encoder().encoding(), releaser.encoder().k()), None);
    let mut row = 0;
    stream(&job, source, releaser, None, None, &mut |block| {
        let ReleasedBlock { rows, bytes, ids, labels } = block;
        let columns = [ids.filter(|_| *with_ids), labels];
        for (column, name) in columns.into_iter().zip(["id", "label"]) {
            check_text(column, name, row)?;
        }
        row += rows as u64;
        let start = |file| FileWriter::new(file, sketch, columns.map(|column| column.map(Column::kind))).map_err(fault);
        if let Some(file) = file.take() {
            writer = Some(start(file)?);
        }
        let writer = writer.as_mut().expect("made with the first block");
        writer.write(rows, bytes, &columns.into_iter().flatten().collect::<Vec<_>>()).map_err(fault)
    })?;
    let digest = hex(&releaser.mechanism().digest());
    let writer = writer.ok_or(WriteError::Block("a release without rows"))?;
    writer.finish(&[(MECHANISM_KEY, &digest)]).and_then(|mut file| file.flush()).map_err(fault)?;
    Ok(())
}
