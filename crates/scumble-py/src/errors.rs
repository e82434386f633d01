//! The library's errors under their Python names (`scumble._errors`).

use pyo3::BoundObject;
use pyo3::exceptions::{PyIndexError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use scumble::decode::DecodeError;
use scumble::entropy::NoEntropy;
use scumble::error::{DataError, Fault, KeyError, Kind, LibraryError, ParameterError, worded};
use scumble::estimate::EstimateError;
use scumble::files::{JobError, OpenError, ReadError, UnknownFormat, WriteError};
use scumble::ledger::LedgerError;
use scumble::plan::{AskError, PlanError};
use scumble::release::ReleaseError;

/// A library error that has a name in Python.
pub trait Named {
    /// The exception.
    fn named(self, py: Python<'_>) -> PyErr;
}

/// `result.or_raise(py)?`
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Named> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.named(py))
    }
}

fn exception<'py>(py: Python<'py>, name: &str, arguments: impl IntoPyObject<'py, Target = PyTuple>) -> PyErr {
    let make = || -> PyResult<Bound<'py, PyAny>> {
        let arguments = arguments.into_pyobject(py).map_err(Into::into)?.into_bound();
        py.import("scumble._errors")?.getattr(name)?.call1(arguments)
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// An exception of `scumble._errors` with a message.
pub fn raise(py: Python<'_>, name: &str, message: impl ToString) -> PyErr {
    exception(py, name, (in_python(&message.to_string()),))
}

/// What the device client refuses: its sentence and its code.
pub fn refused(py: Python<'_>, sentence: String, code: i32) -> PyErr {
    exception(py, "Refused", (sentence, code))
}

/// Parameters and actions under the names that they have in Python.
fn in_python(message: &str) -> String {
    worded(message, |name| match name.strip_suffix("()") {
        None => name.to_owned(),
        Some("ledger_init") => "scumble.Account with a budget".to_owned(),
        Some(action) => format!("scumble.{action}"),
    })
}

/// The exception of the library's kind of error.
fn named(py: Python<'_>, error: &dyn Fault) -> PyErr {
    let name = match error.kind() {
        Kind::Data { row, column } => {
            return exception(py, "DataError", (in_python(&error.to_string()), row, column));
        }
        Kind::NoSuchRow => return PyIndexError::new_err(error.to_string()),
        Kind::Stopped => return PyKeyboardInterrupt::new_err(()),
        Kind::Parameter | Kind::Refused => "ParameterError",
        Kind::NotPrivate => "NotPrivate",
        Kind::OverBudget => "OverBudget",
        Kind::NotIdentifiable => "NotIdentifiable",
        Kind::Certificate | Kind::NoCertificate => "CertificateError",
        Kind::File => "FileError",
        _ => "ScumbleError",
    };
    raise(py, name, error)
}

macro_rules! by_kind {
    ($($error:ty),* $(,)?) => {$(
        impl Named for $error {
            fn named(self, py: Python<'_>) -> PyErr {
                named(py, &self)
            }
        }
    )*};
}
by_kind!(AskError, DataError, DecodeError, EstimateError, KeyError, LedgerError, LibraryError, NoEntropy, OpenError);
by_kind!(ParameterError, PlanError, ReadError, ReleaseError, UnknownFormat, WriteError);

/// Parameters come as JSON.
impl Named for serde_json::Error {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "ParameterError", self)
    }
}

impl Named for JobError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Row { error, .. } => named(py, &error), // Python gave the path itself
            other => named(py, &other),
        }
    }
}
