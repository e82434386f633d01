//! Rows in, a release out, block by block.

use crate::capsule::{Sketches, Table};
use crate::errors::OrRaise;
use crate::input::Input;
use crate::keys;
use crate::mechanism::{Mechanism, Names};
use crate::record_batch::{from_arrow, sketch_array};
use crate::release::Release;
use pyo3::prelude::*;
use scumble::certificate::SigningKey;
use scumble::columns::Column;
use scumble::files::{Gather, IdCheck, PersonsOf, Ranking, ReadOptions, row_names};
use scumble::release;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two checks for signals (Ctrl-C), roughly.
const PATIENCE: Duration = Duration::from_millis(100);

/// What stands for a file in errors about record batches.
const NAME: &str = "record batch";

/// A mechanism with its encoding and its source of noise; gathers released rows.
#[pyclass(module = "scumble._scumble")]
pub struct Releaser {
    pub inner: Gather,
    sign: Option<SigningKey>,
    /// Rows and ids of record batches, which are not gathered.
    batched: u64,
    seen: IdCheck,
}

/// Does `work(start, rows)` on a block, piece by piece, checking signals after each. Pieces grow with the speed: cores
/// wait for each other at the end of a piece.
fn in_pieces(py: Python<'_>, rows: usize, mut work: impl FnMut(usize, usize) -> PyResult<()>) -> PyResult<()> {
    let (mut start, mut piece) = (0, 1024);
    while start < rows {
        let began = Instant::now();
        let size = piece.min(rows - start);
        work(start, size)?;
        py.check_signals()?;
        start += size;
        if began.elapsed() < PATIENCE / 2 {
            piece *= 2;
        }
    }
    Ok(())
}

#[pymethods]
impl Releaser {
    /// `key`: content of a key file; noise is then a function of key, mechanism, row id and row. Without it noise is
    /// fresh. `sign`: content of a key file that signs the certificate. `persons`: whose row each is, the most rows of a
    /// person that leave, and the delta for all of them together.
    #[new]
    #[pyo3(signature = (mechanism, encoding=None, key=None, ids=None, sign=None, persons=None))]
    fn new(
        py: Python<'_>,
        mechanism: &Mechanism,
        encoding: Option<&str>,
        key: Option<&[u8]>,
        ids: Option<Names>,
        sign: Option<&[u8]>,
        persons: Option<(Names, usize, Option<f64>)>,
    ) -> PyResult<Self> {
        let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
        let mut releaser = release::Releaser::new(mechanism.inner.clone(), encoding).or_raise(py)?;
        if let Some(key) = key {
            releaser = releaser.keyed(keys::noise_key(py, key)?);
        }
        let sign = sign.map(|key| keys::signing_key(py, key)).transpose()?;
        let mut inner = Gather::new(releaser, ids.map(Column::from));
        if let Some((names, rows, delta)) = persons {
            inner = inner.for_persons(&PersonsOf { persons: names.into(), rows, delta }).or_raise(py)?;
        }
        Ok(Self { inner, sign, batched: 0, seen: IdCheck::new() })
    }

    /// Takes note of what a sticky release of these rows will show.
    fn look<'py>(&mut self, py: Python<'py>, rows: Input<'py>) -> PyResult<()> {
        let held = rows.hold(py, self.dim(), self.inner.looked_at() as u64)?;
        for block in held.blocks()? {
            in_pieces(py, block.len(), |start, size| {
                py.detach(|| self.inner.look(block.slice(start, size))).or_raise(py)
            })?;
        }
        Ok(())
    }

    /// Releases rows and keeps what was released.
    fn add<'py>(&mut self, py: Python<'py>, rows: Input<'py>) -> PyResult<()> {
        let held = rows.hold(py, self.dim(), self.inner.rows() as u64)?;
        for block in held.blocks()? {
            self.inner.make_room(block.len());
            in_pieces(py, block.len(), |start, size| {
                py.detach(|| self.inner.add(block.slice(start, size))).or_raise(py)
            })?;
        }
        Ok(())
    }

    /// The release of all rows that were added.
    #[pyo3(signature = (labels=None))]
    fn finish(&mut self, py: Python<'_>, labels: Option<Names>) -> Release {
        let (labels, sign) = (labels.map(Column::from), self.sign.as_ref());
        Release { inner: py.detach(|| self.inner.finish(labels, sign)) }
    }

    /// How many rows stay of those whose persons were given: for the operator only.
    fn staying(&self) -> Option<usize> {
        self.inner.staying()
    }

    /// The rank of each row among those of its person, by the key of the noise: the first ones stay.
    fn ranks(&self, py: Python<'_>, persons: Vec<String>, rows: Vec<String>) -> PyResult<Vec<i64>> {
        let ranking = Ranking::of(self.inner.releaser()).or_raise(py)?;
        let rank = |(person, row): (&String, &String)| (ranking.rank(person, row) >> 1) as i64;
        Ok(persons.iter().zip(&rows).map(rank).collect())
    }

    /// The sketches of a record batch, with noise by the id column when there is a key. Keeps nothing.
    fn batch(&mut self, py: Python<'_>, batch: Table, column: String, id: String) -> PyResult<Sketches> {
        let options = ReadOptions { column, id: Some(id), dim: Some(self.dim()), ..Default::default() };
        let held = from_arrow(NAME, &batch.0, &options, self.batched).or_raise(py)?;
        if let Some(ids) = held.ids() {
            self.seen.add(Path::new(NAME), ids, self.batched).or_raise(py)?;
        }
        let (releaser, rows) = (self.inner.releaser(), held.rows());
        let (encoder, width) = (releaser.encoder(), releaser.encoder().bytes_per_row());
        let mut bytes = vec![0; rows.len() * width];
        in_pieces(py, rows.len(), |start, size| {
            let (piece, out) = (rows.slice(start, size), &mut bytes[start * width..(start + size) * width]);
            let (first, names) = (self.batched + start as u64, row_names(held.ids(), start));
            py.detach(|| releaser.release_into(piece, first, names, out)).or_raise(py)
        })?;
        self.batched += rows.len() as u64;
        Ok(Sketches(sketch_array(encoder.encoding(), encoder.k(), &bytes)))
    }
}

impl Releaser {
    fn dim(&self) -> usize {
        self.inner.releaser().mechanism().parameters().dim
    }
}
