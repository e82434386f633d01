//! Budgets: what a data set has spent, reserved before any noise is drawn.

use crate::errors::{Named, OrRaise, raise};
use crate::mechanism::Mechanism;
use crate::releaser::Releaser;
use pyo3::prelude::*;
use scumble::certificate::Certificate;
use scumble::ledger as accounts;
use scumble::ledger::{Budget, Ledger, LedgerError};
use std::path::PathBuf;

impl Named for LedgerError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameter(error) => error.named(py),
            Self::OverBudget(_) => raise(py, "OverBudget", self),
            Self::Account(_) => raise(py, "ParameterError", self),
            Self::Storage(_) => raise(py, "FileError", self),
        }
    }
}

/// A place in an account. It counts as spent unless it is cancelled.
#[pyclass(frozen, module = "scumble._scumble")]
pub struct Reservation {
    ledger: PathBuf,
    inner: accounts::Reservation,
}

#[pymethods]
impl Reservation {
    /// Reserves what a release costs; makes the ledger if there is none. `budget`: (epsilon, delta), at the first use.
    /// `sticky`: a releaser with a key that has looked at the rows; only what they show that is new is charged.
    #[new]
    #[pyo3(signature = (ledger, dataset, budget, mechanism, sticky=None))]
    fn new(
        py: Python<'_>,
        ledger: PathBuf,
        dataset: &str,
        budget: Option<(f64, f64)>,
        mechanism: &Mechanism,
        sticky: Option<&Releaser>,
    ) -> PyResult<Self> {
        let budget = budget.map(|(epsilon, delta)| Budget::new(epsilon, delta)).transpose().or_raise(py)?;
        let inner = py.detach(|| {
            let (mut open, _) = Ledger::open_or_create(&ledger)?;
            match sticky.and_then(|releaser| Some((releaser.inner.keyed_noise()?.name(dataset), &releaser.shown))) {
                Some((stream, rows)) => open.reserve_sticky(dataset, budget, &mechanism.inner, &stream, rows),
                None => open.reserve(dataset, budget, &mechanism.inner),
            }
        });
        Ok(Self { inner: inner.or_raise(py)?, ledger })
    }

    /// Records the certificate of a release that is complete.
    fn record(&self, py: Python<'_>, certificate: &str) -> PyResult<()> {
        let parsed = py.detach(|| Certificate::parse(certificate));
        let (certificate, _) = parsed.map_err(|error| raise(py, "CertificateError", error))?;
        py.detach(|| Ledger::open(&self.ledger)?.record(&self.inner, &certificate)).or_raise(py)
    }

    /// Gives back what was reserved for a release that has failed without an output.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| Ledger::open(&self.ledger)?.cancel(&self.inner)).or_raise(py)
    }
}

/// All accounts of a ledger, as JSON.
#[pyfunction]
pub fn ledger_statement(py: Python<'_>, ledger: PathBuf) -> PyResult<String> {
    py.detach(|| Ok(Ledger::open(&ledger)?.statement()?.to_json())).map_err(|error: LedgerError| error.named(py))
}
