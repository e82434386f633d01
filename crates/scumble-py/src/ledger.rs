//! Budgets: what a data set has spent, reserved before any noise is drawn.

use crate::errors::{Named, OrRaise, raise};
use crate::releaser::Releaser;
use pyo3::prelude::*;
use scumble::certificate::Certificate;
use scumble::ledger::{self as accounts, Budget, Ledger, LedgerError};
use scumble::mechanism::Beside;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a ledger has reserved for a release. It counts as spent unless it is given back.
#[pyclass(frozen, module = "scumble._scumble")]
pub struct Charge {
    inner: Mutex<Option<accounts::Charge>>,
    beside: Beside,
}

#[pymethods]
impl Charge {
    /// Reserves what a release costs; makes the ledger if there is none. `budget`: (epsilon, delta), at the first use.
    /// For a sticky release, only what is new in its rows is charged, if the releaser has looked at them.
    #[new]
    fn new(
        py: Python<'_>,
        ledger: PathBuf,
        dataset: &str,
        budget: Option<(f64, f64)>,
        releaser: &Releaser,
    ) -> PyResult<Self> {
        let budget = budget.map(|(epsilon, delta)| Budget::new(epsilon, delta)).transpose().or_raise(py)?;
        let charge = py.detach(|| {
            let shown = releaser.inner.shown();
            let (ledger, _) = Ledger::open_or_create(&ledger)?;
            accounts::Charge::reserve(ledger, dataset, budget, releaser.inner.releaser(), shown.as_deref())
        });
        let mut beside = Beside::default();
        let public = releaser.inner.releaser().mechanism().parameters().beside();
        public.iter().try_for_each(|(_, content)| beside.add(content)).or_raise(py)?;
        Ok(Self { inner: Mutex::new(Some(charge.or_raise(py)?)), beside })
    }

    /// Names the certificate of a release that is complete; the charge stays.
    fn record(&self, py: Python<'_>, certificate: &str) -> PyResult<()> {
        let parsed = py.detach(|| Certificate::parse_with(certificate, &self.beside));
        let (certificate, _) = parsed.map_err(|error| raise(py, "CertificateError", error))?;
        let Some(charge) = &mut *self.held() else { return Ok(()) };
        charge.record(&certificate).or_raise(py)?;
        charge.keep();
        Ok(())
    }

    /// The charge stays from now on: something may have been shown.
    fn keep(&self) {
        if let Some(charge) = &mut *self.held() {
            charge.keep();
        }
    }

    /// Gives back what was reserved, unless it stays.
    fn cancel(&self) {
        *self.held() = None;
    }
}

impl Charge {
    fn held(&self) -> MutexGuard<'_, Option<accounts::Charge>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All accounts of a ledger, as JSON.
#[pyfunction]
pub fn ledger_statement(py: Python<'_>, ledger: PathBuf) -> PyResult<String> {
    py.detach(|| Ok(Ledger::open(&ledger)?.statement()?.to_json())).map_err(|error: LedgerError| error.named(py))
}
