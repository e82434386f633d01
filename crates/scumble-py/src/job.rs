//! Whole files: the library's protocol, with Python's signals and progress.

use crate::errors::OrRaise;
use crate::keys;
use crate::mechanism::Mechanism;
use pyo3::prelude::*;
use scumble::files::{AccountOf, Aside, Job, JobError, Part, Progress, ReadOptions, RowsPerPerson};
use scumble::files::{release, release_part as part, row_groups as groups};
use scumble::ledger::Budget;
use scumble::release::Releaser;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which account pays: ledger, data set, and at the first use its budget (epsilon, delta).
type Account = (PathBuf, String, Option<(f64, f64)>);

/// Releases a file into a new file; gives the certificate's text, and for the operator how many rows were left out.
/// `reading`: how to read it, by name. `bound`: the most rows of a person, and the delta for all of them together.
#[pyfunction]
#[pyo3(signature = (mechanism, input, out, reading, encoding=None, account=None, key=None, sign=None, progress=None, bound=None))]
#[allow(clippy::too_many_arguments)]
pub fn release_file(
    py: Python<'_>,
    mechanism: &Mechanism,
    input: PathBuf,
    out: PathBuf,
    reading: Reading,
    encoding: Option<&str>,
    account: Option<Account>,
    key: Option<&[u8]>,
    sign: Option<&[u8]>,
    progress: Option<Py<PyAny>>,
    bound: Option<(usize, Option<f64>)>,
) -> PyResult<(String, u64)> {
    let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
    let mut releaser = Releaser::new(mechanism.inner.clone(), encoding).or_raise(py)?;
    if let Some(key) = key {
        releaser = releaser.keyed(keys::noise_key(py, key)?);
    }
    let sign = sign.map(|key| keys::signing_key(py, key)).transpose()?;
    let account = account.as_ref().map(|(ledger, dataset, budget)| {
        let budget = budget.map(|(epsilon, delta)| Budget::new(epsilon, delta)).transpose().or_raise(py)?;
        PyResult::Ok(AccountOf { ledger, dataset, budget })
    });
    let mut reading = reading.options(py)?;
    reading.dim = reading.dim.or(Some(mechanism.inner.parameters().dim));
    let persons = bound.map(|(rows, delta)| RowsPerPerson { rows, delta });
    let left_out = AtomicU64::new(0);
    let aside = |aside| {
        if let Aside::LeftOut(rows) = aside {
            left_out.store(rows, Ordering::Relaxed);
        }
    };
    let account = account.transpose()?;
    let certificate = watched(py, progress, |progress| {
        let (sign, progress) = (sign.as_ref(), Some(progress));
        let job = Job { input, reading, persons, out, sign, account, progress, aside: Some(&aside), ..Job::default() };
        release(&job, |_| Ok::<_, JobError>(releaser))
    })?;
    Ok((certificate.to_json(), left_out.into_inner()))
}

/// Runs `work`, checking signals (Ctrl-C) and calling `progress` between blocks.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Progress<'_>) -> Result<T, JobError> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let watch = |done: u64, all: Option<u64>| {
        let seen = Python::attach(|py| {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, all)).map(drop))
        });
        match seen {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *raised.lock().expect("nothing panics here") = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    let done = py.detach(|| work(&watch));
    match raised.into_inner().expect("nothing panics here") {
        Some(error) => Err(error),
        None => done.or_raise(py),
    }
}

/// (rows, bytes) of every row group of a Parquet file, whose columns are there and can be read.
#[pyfunction]
pub fn row_groups(py: Python<'_>, path: PathBuf, reading: Reading) -> PyResult<Vec<(u64, u64)>> {
    groups(&path, &reading.options(py)?).or_raise(py)
}

/// Releases row groups `groups.0..groups.1` of a Parquet file into a new one, which has no certificate. Ids leave if
/// `with_ids`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn release_part(
    py: Python<'_>,
    mechanism: &Mechanism,
    key: &[u8],
    input: PathBuf,
    groups: (usize, usize),
    out: PathBuf,
    reading: Reading,
    encoding: Option<&str>,
    with_ids: bool,
) -> PyResult<()> {
    let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
    let releaser = Releaser::new(mechanism.inner.clone(), encoding).or_raise(py)?.keyed(keys::noise_key(py, key)?);
    let mut reading = reading.options(py)?;
    reading.dim = Some(mechanism.inner.parameters().dim);
    watched(py, None, |progress| {
        part(&Part { input, groups: groups.0..groups.1, reading, with_ids, out, progress: Some(progress) }, &releaser)
    })
}

/// How to read a file, as keyword arguments; `None` takes the library's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    column: Option<String>,
    id: Option<String>,
    label: Option<String>,
    person: Option<String>,
    dim: Option<usize>,
    header: Option<bool>,
}

impl Reading {
    fn options(self, py: Python<'_>) -> PyResult<ReadOptions> {
        let defaults = ReadOptions::default();
        Ok(ReadOptions {
            format: self.format.map(|name| name.parse()).transpose().or_raise(py)?,
            column: self.column.unwrap_or(defaults.column),
            id: self.id,
            label: self.label,
            person: self.person,
            dim: self.dim,
            header: self.header,
        })
    }
}
