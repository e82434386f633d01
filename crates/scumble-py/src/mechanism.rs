//! A mechanism, made from the JSON of its public parameters.

use crate::errors::{OrRaise, raise};
use crate::input::Input;
use crate::keys;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use scumble::certificate::{GuaranteeStatement, PersonStatement};
use scumble::files::{Certifier, MECHANISM_KEY, RowsPerPerson};
use scumble::mechanism;
use scumble::plan::{described, with_content};
use scumble::release::Encoder;
use scumble::search::ExactQueries;
use scumble::vectors::TableHash;
use std::borrow::Cow;
use std::path::PathBuf;

pub use scumble::plan::parse_ask as ask;

/// See `scumble.Mechanism`.
#[pyclass(frozen, module = "scumble._scumble")]
pub struct Mechanism {
    pub inner: mechanism::Mechanism,
}

#[pymethods]
impl Mechanism {
    #[new]
    fn new(py: Python<'_>, parameters: &str) -> PyResult<Self> {
        let (dim, asked) = ask(parameters).or_raise(py)?;
        Ok(Self { inner: py.detach(|| asked.mechanism(dim)).or_raise(py)? })
    }

    /// JSON that makes the same mechanism again.
    fn parameters(&self) -> String {
        serde_json::to_string(self.inner.parameters()).expect("parameters have only JSON values")
    }

    /// The same with the content of public files, for another process.
    fn whole_parameters(&self) -> String {
        with_content(self.inner.parameters()).to_string()
    }

    /// The kind and content of the public files that must accompany a certificate.
    fn public(&self) -> Vec<(&'static str, Cow<'static, [u8]>)> {
        self.inner.parameters().beside().into_iter().map(|(kind, content)| (kind, content.into())).collect()
    }

    /// Rows of the public samples that its files were learned from.
    fn sample_rows(&self) -> Vec<u64> {
        self.inner.parameters().samples().into_iter().map(|(_, rows, _)| rows).collect()
    }

    /// Which of its files was learned from these very rows.
    fn learned_from<'py>(&self, py: Python<'py>, rows: Input<'py>) -> PyResult<Option<&'static str>> {
        let held = rows.hold(py, self.inner.parameters().dim, 0)?;
        let rows = held.whole(py)?;
        let found = py.detach(|| TableHash::of(rows).finish());
        Ok(self.inner.parameters().samples().into_iter().find(|(.., sha256)| *sha256 == found).map(|(what, ..)| what))
    }

    /// Sentences to read before releasing.
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    /// "values", "bits", "symbols" or "words".
    fn output(&self) -> &'static str {
        self.inner.id().output().as_str()
    }

    /// Variance of the noise on one released value; None for bits and symbols.
    fn noise_variance(&self) -> Option<f64> {
        self.inner.noise_moments().map(|moments| moments.variance)
    }

    /// The name of an encoding, or of the mechanism's own.
    fn encoding(&self, py: Python<'_>, encoding: Option<&str>) -> PyResult<String> {
        let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
        Ok(Encoder::new(&self.inner, encoding).or_raise(py)?.encoding().to_string())
    }

    /// The promise as a certificate words it, as JSON.
    fn guarantee(&self) -> String {
        serde_json::to_string(&GuaranteeStatement::new(&self.inner)).expect("a statement has only JSON values")
    }

    /// What a certificate states for persons with at most this many rows, as JSON.
    fn person_statement(&self, py: Python<'_>, most: usize, delta: Option<f64>) -> PyResult<String> {
        let statement = PersonStatement::new(&self.inner, most, delta).or_raise(py)?;
        Ok(serde_json::to_string(&statement).expect("a statement has only JSON values"))
    }

    /// Names the mechanism in the files of its rows.
    fn digest(&self) -> (&'static str, String) {
        (MECHANISM_KEY, self.inner.digest().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The certificate of released Parquet files in this order, as JSON, and their number of rows; None without rows.
    /// `sticky`: noise from a kept key. `sign`: a key's content. `person`: the most rows of a person, and the delta for all of
    /// them together.
    #[pyo3(signature = (files, encoding=None, sticky=false, sign=None, person=None))]
    fn certify(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        encoding: Option<&str>,
        sticky: bool,
        sign: Option<&[u8]>,
        person: Option<(usize, Option<f64>)>,
    ) -> PyResult<Option<(u64, String)>> {
        let encoding = encoding.map(str::parse).transpose().or_raise(py)?;
        let sign = sign.map(|key| keys::signing_key(py, key)).transpose()?;
        let mut certifier = Certifier::new(&self.inner, encoding).or_raise(py)?;
        certifier.sticky = sticky;
        certifier.person = person.map(|(rows, delta)| RowsPerPerson { rows, delta });
        for path in files.try_iter()? {
            let path: PathBuf = path?.extract()?;
            py.detach(|| certifier.add(&path)).or_raise(py)?;
        }
        let certificate = py.detach(|| certifier.finish(sign.as_ref())).or_raise(py)?;
        Ok(certificate.map(|certificate| (certificate.rows, certificate.to_json())))
    }

    /// The public projection of rows that their owner keeps exact, in the units of the data: no noise.
    fn exact<'py>(&self, py: Python<'py>, rows: Input<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let held = rows.hold(py, self.inner.parameters().dim, 0)?;
        let mut values = Vec::new();
        for block in held.blocks()? {
            let exact = py.detach(|| ExactQueries::project(&self.inner, block)).or_raise(py)?;
            (0..exact.len()).for_each(|i| values.extend_from_slice(exact.row(i)));
        }
        self.matrix(py, values)
    }

    /// What a release of these rows estimates: no noise, NOT private.
    fn project<'py>(&self, py: Python<'py>, rows: Input<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let held = rows.hold(py, self.inner.parameters().dim, 0)?;
        let mut values = Vec::new();
        for block in held.blocks()? {
            values.extend(py.detach(|| self.inner.expected_rows(block)).or_raise(py)?);
        }
        self.matrix(py, values)
    }
}

impl Mechanism {
    fn matrix<'py>(&self, py: Python<'py>, values: Vec<f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let shape = [values.len() / self.inner.k(), self.inner.k()];
        PyArray1::from_vec(py, values).reshape(shape)
    }
}

/// Id, paper, summary, output and notion of every mechanism, as JSON.
#[pyfunction]
pub fn mechanisms() -> String {
    serde_json::to_string(&described()).expect("descriptions are JSON values")
}

/// Ids or labels as Python holds them.
#[derive(FromPyObject)]
pub enum Names {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

impl From<Names> for scumble::columns::Column {
    fn from(names: Names) -> Self {
        match names {
            Names::Int(v) => Self::Int(v),
            Names::Float(v) => Self::Float(v),
            Names::Text(v) => Self::Text(v),
        }
    }
}

/// A mistake in how Python calls this module.
pub fn misuse(py: Python<'_>, message: impl ToString) -> PyErr {
    raise(py, "ScumbleError", message)
}
