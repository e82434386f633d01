//! The library's errors under their Python names (`scumble._errors`).

use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use scumble::decode::DecodeError;
use scumble::entropy::NoEntropy;
use scumble::error::{DataError, KeyError, LibraryError, ParameterError, worded};
use scumble::estimate::EstimateError;
use scumble::files::{JobError, OpenError, ReadError, ReadErrorKind, UnknownFormat, WriteError};
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

impl Named for ParameterError {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, if self.is_refusal() { "NotPrivate" } else { "ParameterError" }, self)
    }
}

impl Named for LibraryError {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, if self.is_refusal() { "NotPrivate" } else { "ParameterError" }, self)
    }
}

impl Named for KeyError {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "ParameterError", self)
    }
}

/// Parameters come as JSON.
impl Named for serde_json::Error {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "ParameterError", self)
    }
}

impl Named for DataError {
    fn named(self, py: Python<'_>) -> PyErr {
        exception(py, "DataError", (in_python(&self.to_string()), self.row, self.column))
    }
}

impl Named for ReleaseError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Data(error) => error.named(py),
            Self::NoEntropy(error) => error.named(py),
            Self::Unpaid { row } => exception(py, "DataError", (self.to_string(), row)),
        }
    }
}

impl Named for NoEntropy {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "ScumbleError", self)
    }
}

impl Named for EstimateError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Projection(_) | Self::Query(_) => raise(py, "ParameterError", self),
            Self::NotIdentifiable(_) => raise(py, "NotIdentifiable", self),
            Self::NoSuchRow { .. } => pyo3::exceptions::PyIndexError::new_err(self.to_string()),
        }
    }
}

impl Named for DecodeError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameter(error) => error.named(py),
            Self::Refused(_) => raise(py, "NotIdentifiable", self),
        }
    }
}

impl Named for ReadError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self.kind {
            ReadErrorKind::NoCertificate => raise(py, "CertificateError", self),
            ReadErrorKind::Io(_) => raise(py, "FileError", self),
            _ => {
                let row = self.row;
                exception(py, "DataError", (in_python(&self.to_string()), row))
            }
        }
    }
}

impl Named for OpenError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Read(error) => error.named(py),
            Self::Release { .. } => raise(py, "CertificateError", self),
        }
    }
}

impl Named for JobError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameter(error) => error.named(py),
            Self::Read(error) => error.named(py),
            Self::Row { error, .. } => error.named(py),
            Self::Write(error) => error.named(py),
            Self::Ledger(error) => error.named(py),
            Self::StickyNeedsIds | Self::LearnedFromInput { .. } => raise(py, "NotPrivate", self),
            Self::PersonsWithoutRows => raise(py, "ParameterError", self),
            Self::SameFile(_) | Self::InsideInput(_) => raise(py, "FileError", self),
            _ => raise(py, "ScumbleError", self),
        }
    }
}

impl Named for UnknownFormat {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "ParameterError", self)
    }
}

impl Named for WriteError {
    fn named(self, py: Python<'_>) -> PyErr {
        raise(py, "FileError", self)
    }
}
