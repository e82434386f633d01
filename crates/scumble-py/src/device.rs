//! The device client: bytes in, bytes out. Storage and sending are Python's (`scumble.device`).

use crate::errors::{Named, OrRaise, refused};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use scumble::privacy::Unit;
use scumble::vectors::Scalars;
use scumble_device::entropy::host;
use scumble_device::{Client, Policy, Refusal, Trust, Vector};

/// Numbers of a vector, where numpy has them.
#[derive(FromPyObject)]
enum Numbers<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
    I16(PyReadonlyArray1<'py, i16>),
    U8(PyReadonlyArray1<'py, u8>),
}

impl Numbers<'_> {
    fn scalars(&self) -> PyResult<Scalars<'_>> {
        Ok(match self {
            Self::F32(values) => Scalars::F32(values.as_slice()?),
            Self::F64(values) => Scalars::F64(values.as_slice()?),
            Self::I16(values) => Scalars::I16(values.as_slice()?),
            Self::U8(values) => Scalars::U8(values.as_slice()?),
        })
    }
}

impl Named for Refusal {
    fn named(self, py: Python<'_>) -> PyErr {
        refused(py, self.to_string(), self as i32)
    }
}

/// Every code with its name and its sentence.
#[pyfunction]
pub fn refusals() -> Vec<(i32, &'static str, String)> {
    Refusal::ALL.iter().map(|refusal| (*refusal as i32, refusal.name(), refusal.to_string())).collect()
}

/// A device in one campaign.
#[pyclass(module = "scumble._scumble")]
pub struct DeviceClient {
    inner: Client,
}

#[pymethods]
impl DeviceClient {
    /// `policy`: attribute, l1, l2, record, delta. `state`: what was stored last.
    #[new]
    #[pyo3(signature = (campaign, file, signer, digest, policy, state))]
    fn new(
        py: Python<'_>,
        campaign: &str,
        file: Option<&[u8]>,
        signer: Option<[u8; 32]>,
        digest: Option<[u8; 32]>,
        policy: [f64; 5],
        state: Option<&[u8]>,
    ) -> PyResult<Self> {
        let [attribute, l1, l2, record, delta] = policy;
        let policy = Policy { attribute, l1, l2, record, delta };
        let opened = py.detach(|| Client::open(campaign, file, Trust { signer, digest }, policy, state, host));
        Ok(Self { inner: opened.or_raise(py)? })
    }

    /// Loads what is stored now.
    fn reload(&mut self, py: Python<'_>, state: Option<&[u8]>) -> PyResult<()> {
        self.inner.reload(state).or_raise(py)
    }

    /// Prepares the report of a vector; `index` and `dim` for a sparse one.
    #[pyo3(signature = (slot, values, index, dim, now))]
    fn prepare(
        &mut self,
        py: Python<'_>,
        slot: &str,
        values: Numbers<'_>,
        index: Option<PyReadonlyArray1<'_, u32>>,
        dim: usize,
        now: u64,
    ) -> PyResult<()> {
        let values = values.scalars()?;
        let vector = match &index {
            Some(index) => Vector::Sparse { dim, index: index.as_slice()?, values },
            None => Vector::Dense(values),
        };
        self.inner.prepare(slot, vector, now).or_raise(py)
    }

    /// The state to store.
    fn state(&self) -> Vec<u8> {
        self.inner.state().to_vec()
    }

    /// The prepared state is stored; the report, or None.
    fn commit(&mut self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        self.inner.commit().or_raise(py)
    }

    /// The prepared state was not stored.
    fn abandon(&mut self) {
        self.inner.abandon();
    }

    /// Reports that wait.
    fn pending(&self) -> Vec<Vec<u8>> {
        self.inner.pending().map(<[u8]>::to_vec).collect()
    }

    /// Prepares to forget a report.
    fn settle(&mut self, py: Python<'_>, report: &[u8]) -> PyResult<()> {
        self.inner.settle(report).or_raise(py)
    }

    /// What the person should read.
    #[getter]
    fn statement(&self) -> &str {
        self.inner.statement()
    }

    /// Where reports go.
    #[getter]
    fn collector(&self) -> &str {
        self.inner.collector()
    }

    /// The campaign's name.
    #[getter]
    fn digest(&self) -> [u8; 32] {
        *self.inner.digest()
    }

    /// How often the state has changed.
    #[getter]
    fn generation(&self) -> u64 {
        self.inner.generation()
    }

    /// Unit, bytes per report; epsilon and delta of a content, spent, and allowed.
    #[getter]
    fn numbers(&self) -> (String, usize, [f64; 6]) {
        let unit: Unit = self.inner.unit();
        let losses = [self.inner.loss(), self.inner.spent(unit), self.inner.limit(unit)];
        let numbers = losses.map(|loss| [loss.epsilon(), loss.delta()]);
        (unit.to_string(), self.inner.report_length(), std::array::from_fn(|at| numbers[at / 2][at % 2]))
    }
}
