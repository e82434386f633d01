//! Files for the tests of `io`, written by hand so that they do not share code with what they test.

use super::tables::{Cells, write_parquet};
use flate2::{Compression, write::GzEncoder};
use parquet::file::properties::WriterProperties;
use scumble::files::{self, Batch, ReadError, ReadOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that goes away with its value.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn parquet(&self, name: &str, columns: &[(&str, Cells)], rows_per_group: usize) -> PathBuf {
        self.parquet_with(name, columns, rows_per_group, WriterProperties::builder().build())
    }

    pub fn parquet_with(
        &self,
        name: &str,
        columns: &[(&str, Cells)],
        rows_per_group: usize,
        properties: WriterProperties,
    ) -> PathBuf {
        let path = self.write(name, "");
        write_parquet(&path, columns, rows_per_group, properties);
        path
    }
}

pub fn gz(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub fn npy_with_header(version: u8, header: &str, body: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    match version {
        1 => out.extend((header.len() as u16).to_le_bytes()),
        _ => out.extend((header.len() as u32).to_le_bytes()),
    }
    out.extend(header.as_bytes());
    out.extend(body);
    out
}

pub fn npy(descr: &str, fortran: bool, shape: &str, body: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    npy_with_header(1, &header, body)
}

pub fn idx(code: u8, axes: &[u32], body: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, code, axes.len() as u8];
    out.extend(axes.iter().flat_map(|axis| axis.to_be_bytes()));
    out.extend(body);
    out
}

pub fn rows_of(batch: &Batch) -> Vec<Vec<f64>> {
    let rows = batch.rows();
    let row = |i| {
        let mut out = vec![0.0; rows.dim()];
        rows.row_f64(i, &mut out);
        out
    };
    (0..rows.len()).map(row).collect()
}

/// The defaults with the columns `id` and `label` asked for.
pub fn with_names() -> ReadOptions {
    ReadOptions { id: Some("id".into()), label: Some("label".into()), ..ReadOptions::default() }
}

/// The defaults with a number of attributes, which LIBSVM needs.
pub fn with_dim(dim: usize) -> ReadOptions {
    ReadOptions { dim: Some(dim), ..ReadOptions::default() }
}

/// Reads in batches of `step` rows and checks that they follow each other.
pub fn read_by(path: &Path, options: &ReadOptions, step: usize) -> Result<Vec<Vec<f64>>, ReadError> {
    let mut source = files::open(path, options)?;
    let mut all = Vec::new();
    while let Some(batch) = source.next_batch(step)? {
        assert_eq!(batch.first_row(), all.len() as u64);
        assert!(!batch.rows().is_empty() && batch.rows().len() <= step);
        assert_eq!(batch.rows().dim(), source.dim());
        assert_eq!(batch.rows().is_sparse(), source.is_sparse());
        for column in [batch.ids(), batch.labels()].into_iter().flatten() {
            assert_eq!(column.len(), batch.rows().len());
        }
        all.extend(rows_of(&batch));
    }
    if let Some(rows) = source.rows_hint() {
        assert_eq!(rows, all.len() as u64);
    }
    Ok(all)
}

/// Reads batch by batch and at once; both must agree.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Vec<Vec<f64>>, ReadError> {
    let all = files::read_all(path, options).map(|batch| rows_of(&batch));
    for step in [1, 2, 1000] {
        assert_eq!(read_by(path, options, step), all, "{}", path.display());
    }
    all
}
