//! A finished release, what may be estimated from it, and search.

use crate::errors::{OrRaise, raise};
use crate::input::Input;
use crate::interrupt::interruptible;
use crate::keys::public_key;
use crate::mechanism::{Mechanism, Names, misuse};
use crate::structure::{Public, beside};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use scumble::certificate::Certificate;
use scumble::columns::Column;
use scumble::decode::{self, DecodeError, Method};
use scumble::estimate::{Estimate, Quantity, RowRef, inner_product_with_query};
use scumble::files::{self, open_release_with, write_release};
use scumble::release;
use scumble::search::{self as engine, ExactQueries, Metric, Queries};
use std::path::PathBuf;

/// See `scumble.Release`.
#[pyclass(frozen, module = "scumble._scumble")]
pub struct Release {
    pub inner: release::Release,
}

fn names<'py>(py: Python<'py>, column: Option<&Column>) -> PyResult<Option<Bound<'py, PyAny>>> {
    column
        .map(|column| match column {
            Column::Int(v) => Ok(PyArray1::from_slice(py, v).into_any()),
            Column::Float(v) => Ok(PyArray1::from_slice(py, v).into_any()),
            Column::Text(v) => v.into_bound_py_any(py),
        })
        .transpose()
}

#[pymethods]
impl Release {
    /// Reads a file or a folder of Parquet files and checks it against its certificate. `key`: content of the public key
    /// that must have signed it. `public`: the content of public files that are not beside it.
    #[staticmethod]
    #[pyo3(signature = (path, key=None, public=Public::new()))]
    fn load(py: Python<'_>, path: PathBuf, key: Option<&[u8]>, public: Public) -> PyResult<Self> {
        let public = beside(py, &public)?;
        let inner = py.detach(|| open_release_with(&path, &public)).or_raise(py)?;
        if let Some(key) = key {
            let signed = inner.certificate().check_signer(&public_key(py, key)?);
            signed.map_err(|error| raise(py, "CertificateError", error))?;
        }
        Ok(Self { inner })
    }

    /// Writes `.parquet`, or `.npy` with its sidecars.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| write_release(&path, &self.inner)).or_raise(py)
    }

    /// Puts a pickled release together again; the hashes are compared.
    #[staticmethod]
    #[pyo3(signature = (certificate, bytes, ids=None, labels=None, public=Public::new()))]
    fn from_parts(
        py: Python<'_>,
        certificate: &str,
        bytes: Vec<u8>,
        ids: Option<Names>,
        labels: Option<Names>,
        public: Public,
    ) -> PyResult<Self> {
        let public = beside(py, &public)?;
        let (ids, labels) = (ids.map(Column::from), labels.map(Column::from));
        let inner = py.detach(|| release::Release::restored(certificate, &public, bytes, ids, labels));
        Ok(Self { inner: inner.map_err(|error| raise(py, "CertificateError", error))? })
    }

    /// Several releases as one table.
    #[staticmethod]
    fn together(py: Python<'_>, parts: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let parts = parts.iter().map(|part| part.inner.clone()).collect();
        let inner = py.detach(|| release::Release::together(parts)).or_raise(py)?;
        Ok(Self { inner })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The certificate's JSON text.
    fn certificate(&self) -> String {
        self.inner.certificate().to_json()
    }

    /// The privacy statement, as Markdown.
    fn statement(&self) -> String {
        self.inner.certificate().statement()
    }

    /// The mechanism that the certificate describes.
    fn mechanism(&self) -> Mechanism {
        Mechanism { inner: self.inner.mechanism().clone() }
    }

    /// All rows as real values: bits as -1 and 1, symbols by their table.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let values = py.detach(|| self.inner.all_values());
        PyArray1::from_vec(py, values).reshape([self.inner.len(), self.inner.k()])
    }

    /// All rows as `search` compares them.
    fn compared_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let values = py.detach(|| scumble::search::compared_values(&self.inner));
        PyArray1::from_vec(py, values).reshape([self.inner.len(), self.inner.k()])
    }

    /// All rows as they are encoded.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let shape = [self.inner.len(), self.inner.encoder().bytes_per_row()];
        PyArray1::from_slice(py, self.inner.bytes()).reshape(shape)
    }

    /// The ids, if the rows have any.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        names(py, self.inner.ids())
    }

    /// The labels, if the rows have any.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        names(py, self.inner.labels())
    }
}

/// Parses a certificate's text, recomputes every number, and returns its mechanism.
#[pyfunction]
#[pyo3(signature = (text, public=Public::new()))]
pub fn certificate_mechanism(py: Python<'_>, text: &str, public: Public) -> PyResult<Mechanism> {
    let public = beside(py, &public)?;
    let parsed = py.detach(|| Certificate::parse_with(text, &public));
    let (_, inner) = parsed.map_err(|error| raise(py, "CertificateError", error))?;
    Ok(Mechanism { inner })
}

/// (value, variance, (low, high)) of "inner_product", "squared_norm", "squared_distance", "cosine" or "angle".
#[pyfunction]
pub fn estimate(
    py: Python<'_>,
    kind: &str,
    a: &Release,
    i: usize,
    b: &Release,
    j: usize,
) -> PyResult<(f64, f64, (f64, f64))> {
    let quantity: Quantity = kind.parse().map_err(|error| misuse(py, error))?;
    let (x, y) = (RowRef::new(&a.inner, i).or_raise(py)?, RowRef::new(&b.inner, j).or_raise(py)?);
    let Estimate { value, variance, interval, .. } = quantity.of(x, y).or_raise(py)?;
    Ok((value, variance, interval))
}

/// As [`estimate`], but `u.v / |u|` for a row of unit record and a projected exact query.
#[pyfunction]
pub fn estimate_with_query(
    py: Python<'_>,
    release: &Release,
    row: usize,
    query: PyReadonlyArray1<'_, f32>,
) -> PyResult<(f64, f64, (f64, f64))> {
    let row = RowRef::new(&release.inner, row).or_raise(py)?;
    let told = inner_product_with_query(row, query.as_slice()?).or_raise(py)?;
    Ok((told.value, told.variance, told.interval))
}

/// What is searched for.
#[derive(FromPyObject)]
pub enum Wanted<'py> {
    Released(PyRef<'py, Release>),
    Exact(Input<'py>),
}

/// The certificate's text of a release that passes every check of the library; else the first that failed.
#[pyfunction]
#[pyo3(signature = (path, key=None, public=Public::new()))]
pub fn verify(py: Python<'_>, path: PathBuf, key: Option<&[u8]>, public: Public) -> PyResult<String> {
    let public = beside(py, &public)?;
    let key = key.map(|key| public_key(py, key)).transpose()?;
    let found = py.detach(|| files::verify(&path, &public, key.as_ref())).or_raise(py)?;
    match (found.failed(), &found.certificate) {
        (None, Some(certificate)) => Ok(certificate.to_json()),
        (Some(check), _) if check.name == "file" => Err(raise(py, "DataError", &check.detail)), // as `load` says it
        (failed, _) => {
            let (name, detail) = failed.map_or(("certificate", "none"), |check| (check.name, check.detail.as_str()));
            Err(raise(py, "CertificateError", format!("{}: {name}: {detail}", path.display())))
        }
    }
}

/// Runs a search; one with so many pairs of rows and queries that it may take long can be stopped by Ctrl-C.
fn listening<R: Send>(py: Python<'_>, pairs: usize, search: impl FnOnce() -> R + Send) -> PyResult<R> {
    const LONG: usize = 1 << 22;
    if pairs > LONG { interruptible(py, search) } else { Ok(py.detach(search)) }
}

/// (rows, scores), each `[queries, min(top, rows of the release)]`, best first.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn search<'py>(
    py: Python<'py>,
    release: &Release,
    queries: Wanted<'py>,
    top: usize,
    metric: Option<&str>,
    decode: Option<&str>,
) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>)> {
    let metric: Option<Metric> = metric.map(str::parse).transpose().or_raise(py)?;
    let method: Option<Method> = decode.map(str::parse).transpose().or_raise(py)?;
    let release = &release.inner;
    let find = |queries: Queries<'_>| match method {
        Some(method) => decode::search(release, queries, top, metric, method),
        None => engine::search(release, queries, top, metric).map_err(DecodeError::from),
    };
    let mut hits = Vec::new();
    match queries {
        Wanted::Released(queries) => {
            let queries = &queries.inner;
            hits = listening(py, release.len() * queries.len(), || find(Queries::Released(queries)))?.or_raise(py)?;
        }
        Wanted::Exact(input) => {
            let held = input.hold(py, release.mechanism().parameters().dim, 0)?;
            for block in held.blocks()? {
                let exact = py.detach(|| ExactQueries::project(release.mechanism(), block)).or_raise(py)?;
                let found = listening(py, release.len() * exact.len(), || find(Queries::Exact(&exact)))?;
                hits.extend(found.or_raise(py)?);
            }
        }
    }
    let shape = [hits.len(), top.min(release.len())];
    let rows: Vec<i64> = hits.iter().flatten().map(|hit| hit.row as i64).collect();
    let scores: Vec<f32> = hits.iter().flatten().map(|hit| hit.score).collect();
    Ok((PyArray1::from_vec(py, rows).reshape(shape)?, PyArray1::from_vec(py, scores).reshape(shape)?))
}
