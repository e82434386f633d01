//! Rows in, a release out, block by block.

use crate::errors::OrRaise;
use crate::input::Input;
use crate::keys;
use crate::mechanism::{Mechanism, Names, misuse};
use crate::record_batch::{from_arrow, sketch_array};
use crate::release::Release;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch};
use scumble::certificate::{PersonStatement, SigningKey};
use scumble::columns::Column;
use scumble::files::{IdCheck, Persons, Ranking, ReadOptions, retain_rows};
use scumble::release::{self, Fingerprint};
use scumble::vectors::Rows;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two looks at the signals (Ctrl-C), about.
const PATIENCE: Duration = Duration::from_millis(100);

/// What stands for a file in errors about record batches.
const NAME: &str = "record batch";

/// A mechanism with its encoding and its source of noise; gathers released rows.
#[pyclass(module = "scumble._scumble")]
pub struct Releaser {
    pub inner: release::Releaser,
    sign: Option<SigningKey>,
    ids: Option<Column>,
    chosen: Option<Chosen>,
    bytes: Vec<u8>,
    rows: u64,
    seen: IdCheck,
    looked: usize,
    /// What a sticky release will show, for a ledger.
    shown: Vec<Fingerprint>,
}

/// Which rows stay, of persons with several.
struct Chosen {
    keep: Vec<bool>,
    statement: PersonStatement,
}

/// Does `work(start, rows)` on a block, piece by piece, with a look at the signals after each. Pieces grow with the speed:
/// cores wait for each other at the end of a piece.
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

/// Row `start + i` for keyed noise: its id as text, as on the command line. Fresh noise reads no id.
fn named(ids: Option<&Column>, start: usize) -> impl Fn(usize) -> Vec<u8> + Sync {
    move |i| ids.map(|ids| ids.text(start + i).into_bytes()).unwrap_or_default()
}

/// Releases a block into `bytes`. `first_id` is the place in `ids` of the first row.
fn release_block(
    py: Python<'_>,
    releaser: &release::Releaser,
    rows: Rows<'_>,
    first_row: u64,
    (ids, first_id): (Option<&Column>, usize),
    paid: Option<&[Fingerprint]>,
    bytes: &mut [u8],
) -> PyResult<()> {
    let width = releaser.encoder().bytes_per_row();
    in_pieces(py, rows.len(), |start, size| {
        let (piece, out) = (rows.slice(start, size), &mut bytes[start * width..(start + size) * width]);
        let id = named(ids, first_id + start);
        let paid = paid.map(|paid| &paid[start..start + size]);
        py.detach(|| releaser.release_paid(piece, first_row + start as u64, id, paid, out)).or_raise(py)
    })
}

impl Releaser {
    /// What a sticky release of the rows that were looked at will show.
    pub fn paid(&self) -> Option<&[Fingerprint]> {
        self.inner.keyed_noise().map(|_| self.shown.as_slice())
    }
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
        let mut inner = release::Releaser::new(mechanism.inner.clone(), encoding).or_raise(py)?;
        if let Some(key) = key {
            inner = inner.keyed(keys::noise_key(py, key)?);
        }
        let ids = ids.map(Column::from);
        let sign = sign.map(|key| keys::signing_key(py, key)).transpose()?;
        let chosen = persons.map(|(names, most, delta)| {
            let statement = PersonStatement::new(inner.mechanism(), most, delta).or_raise(py)?;
            let (names, ranking) = (Column::from(names), Ranking::of(&inner).or_raise(py)?);
            let persons = Persons::among(&names, ids.as_ref(), most, ranking);
            Ok::<_, PyErr>(Chosen { keep: persons.pass().keep(&names, ids.as_ref()), statement })
        });
        let (chosen, seen) = (chosen.transpose()?, IdCheck::new());
        Ok(Self { inner, sign, ids, chosen, bytes: Vec::new(), rows: 0, seen, looked: 0, shown: Vec::new() })
    }

    /// Takes note of what a sticky release of these rows will show.
    fn look<'py>(&mut self, py: Python<'py>, rows: Input<'py>) -> PyResult<()> {
        let held = rows.hold(py, self.inner.mechanism().parameters().dim, self.looked as u64)?;
        for block in held.blocks()? {
            in_pieces(py, block.len(), |start, size| {
                let (piece, first) = (block.slice(start, size), self.looked);
                let id = named(self.ids.as_ref(), first);
                let found = py.detach(|| self.inner.fingerprints(piece, first as u64, id)).or_raise(py)?;
                let keep = self.chosen.as_ref().map(|chosen| &chosen.keep);
                let stays = |i: &usize| keep.is_none_or(|keep| keep[first + i]);
                self.shown.extend(found.into_iter().enumerate().filter(|(i, _)| stays(i)).map(|(_, row)| row));
                self.looked += size;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Releases rows and keeps what was released.
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
            let ids = (self.ids.as_ref(), self.rows as usize);
            // What was looked at was paid for: what is released must be the same.
            let paid = match self.shown.is_empty() {
                true => None,
                false => {
                    let first = self.rows as usize;
                    let paid = self.shown.get(first..first + block.len());
                    Some(paid.ok_or_else(|| misuse(py, "rows were added after they were charged"))?)
                }
            };
            release_block(py, &self.inner, block, self.rows, ids, paid, &mut self.bytes[start..])?;
            self.rows += block.len() as u64;
        }
        Ok(())
    }

    /// The release of all rows that were added.
    #[pyo3(signature = (labels=None))]
    fn finish(&mut self, py: Python<'_>, labels: Option<Names>) -> PyResult<Release> {
        let (mut bytes, mut ids) = (std::mem::take(&mut self.bytes), self.ids.take());
        let mut labels = labels.map(Column::from);
        let chosen = self.chosen.take();
        if let Some(Chosen { keep, .. }) = &chosen {
            retain_rows(&mut bytes, self.inner.encoder().bytes_per_row(), keep);
            [&mut ids, &mut labels].into_iter().flatten().for_each(|column| *column = column.filter(keep));
        }
        let mut release = py.detach(|| release::Release::new(&self.inner, bytes, ids, labels));
        if let Some(Chosen { statement, .. }) = chosen {
            release = release.for_persons(statement);
        }
        Ok(Release { inner: if let Some(key) = &self.sign { release.signed(key) } else { release } })
    }

    /// How many rows stay of those whose persons were given: for the operator only.
    fn staying(&self) -> Option<usize> {
        self.chosen.as_ref().map(|chosen| chosen.keep.iter().filter(|keep| **keep).count())
    }

    /// The rank of each row among those of its person, by the key of the noise: the first ones stay.
    fn ranks(&self, py: Python<'_>, persons: Vec<String>, rows: Vec<String>) -> PyResult<Vec<i64>> {
        let ranking = Ranking::of(&self.inner).or_raise(py)?;
        let rank = |(person, row): (&String, &String)| (ranking.rank(person, row) >> 1) as i64;
        Ok(persons.iter().zip(&rows).map(rank).collect())
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
        release_block(py, &self.inner, held.rows(), self.rows, (held.ids(), 0), None, &mut bytes)?;
        self.rows += held.rows().len() as u64;
        let sketches = sketch_array(encoder.encoding(), encoder.k(), &bytes);
        Ok(PyArray::from_array_ref(sketches))
    }
}
