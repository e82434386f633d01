//! Rows in, a release out, block by block.

use crate::errors::OrRaise;
use crate::input::Input;
use crate::mechanism::{Mechanism, Names};
use crate::release::Release;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};
use scumble::io::{Column, IdCheck, ReadOptions, from_arrow, sketch_array};
use scumble::noise::NoiseKey;
use scumble::release;
use scumble::vectors::Rows;
use std::path::Path;

/// Scalars released between two looks at the signals: a few hundredths of a second.
const BLOCK: usize = 1 << 22;

/// What stands for a file in errors about record batches.
const NAME: &str = "record batch";

/// A mechanism with its encoding and its source of noise; gathers released rows.
#[pyclass(module = "scumble._scumble")]
pub struct Releaser {
    inner: release::Releaser,
    bytes: Vec<u8>,
    rows: u64,
    seen: IdCheck,
}

/// Releases a block into `bytes` in pieces; a signal (Ctrl-C) stops it between two of them.
fn release_block(
    py: Python<'_>,
    releaser: &release::Releaser,
    rows: Rows<'_>,
    first_row: u64,
    ids: Option<&Column>,
    bytes: &mut [u8],
) -> PyResult<()> {
    let piece = (BLOCK / rows.dim().max(1)).clamp(256, 1 << 16);
    let width = releaser.encoder().bytes_per_row();
    for (start, out) in (0..rows.len()).step_by(piece).zip(bytes.chunks_mut(piece * width)) {
        let id = |i: usize| match ids {
            Some(Column::Int(v)) => v[start + i].to_le_bytes().to_vec(),
            Some(Column::Text(v)) => v[start + i].clone().into_bytes(),
            Some(Column::Float(_)) | None => Vec::new(), // fresh noise reads no id; ids are never floats
        };
        let block = rows.slice(start, out.len() / width);
        py.detach(|| releaser.release_into(block, first_row + start as u64, id, out)).or_raise(py)?;
        py.check_signals()?;
    }
    Ok(())
}

#[pymethods]
impl Releaser {
    /// `key`: 32 secret bytes; noise is then a function of key, mechanism, row id and row. Without it noise is fresh.
    #[new]
    fn new(py: Python<'_>, mechanism: &Mechanism, encoding: Option<&str>, key: Option<[u8; 32]>) -> PyResult<Self> {
        let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
        let mut inner = release::Releaser::new(mechanism.inner.clone(), encoding).or_raise(py)?;
        if let Some(key) = key {
            inner = inner.keyed(NoiseKey::from_bytes(key));
        }
        Ok(Self { inner, bytes: Vec::new(), rows: 0, seen: IdCheck::new() })
    }

    /// Releases rows with fresh noise and keeps what was released.
    fn add<'py>(&mut self, py: Python<'py>, rows: Input<'py>) -> PyResult<()> {
        let width = self.inner.encoder().bytes_per_row();
        let held = rows.hold(py, self.inner.mechanism().parameters().dim, self.rows)?;
        for block in held.blocks()? {
            let start = self.bytes.len();
            if start == 0 {
                self.bytes = vec![0; block.len() * width]; // zero pages come for free, and from each worker's own core
            } else {
                self.bytes.resize(start + block.len() * width, 0);
            }
            release_block(py, &self.inner, block, self.rows, None, &mut self.bytes[start..])?;
            self.rows += block.len() as u64;
        }
        Ok(())
    }

    /// The release of all rows that were added.
    fn finish(&mut self, py: Python<'_>, ids: Option<Names>, labels: Option<Names>) -> PyResult<Release> {
        let bytes = std::mem::take(&mut self.bytes);
        let (ids, labels) = (ids.map(Column::from), labels.map(Column::from));
        Ok(Release { inner: py.detach(|| release::Release::new(&self.inner, bytes, ids, labels)) })
    }

    /// The sketches of a record batch, with noise by the id column when there is a key. Keeps nothing.
    fn batch(&mut self, py: Python<'_>, batch: PyRecordBatch, column: String, id: String) -> PyResult<PyArray> {
        let options = ReadOptions {
            column,
            id: Some(id),
            dim: Some(self.inner.mechanism().parameters().dim),
            ..Default::default()
        };
        let held = from_arrow(NAME, batch.as_ref(), &options, self.rows).or_raise(py)?;
        if let Some(ids) = held.ids() {
            self.seen.add(Path::new(NAME), ids, self.rows).or_raise(py)?;
        }
        let encoder = self.inner.encoder();
        let mut bytes = vec![0; held.rows().len() * encoder.bytes_per_row()];
        release_block(py, &self.inner, held.rows(), self.rows, held.ids(), &mut bytes)?;
        self.rows += held.rows().len() as u64;
        let sketches = sketch_array(encoder.encoding(), encoder.k(), &bytes);
        Ok(PyArray::from_array_ref(sketches))
    }
}
