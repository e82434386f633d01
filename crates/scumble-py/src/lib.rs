//! The compiled part of the Python package: `scumble._scumble`, private to `python/scumble`.
//!
//! Thin on purpose. Python decides what an argument means and has the documentation; here views of numpy, scipy and
//! Arrow memory become [`scumble::vectors::Rows`], the interpreter's lock is dropped while the library works, signals
//! are checked between blocks, and errors get their Python names.

mod capsule;
mod device;
mod errors;
mod evaluate;
mod input;
mod interrupt;
mod job;
mod keys;
mod ledger;
mod mechanism;
mod plan;
mod record_batch;
mod release;
mod releaser;
mod statistics;
mod structure;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Runs the command line; gives its exit status. Ctrl-C ends the process, as it ends the binary.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| scumble_cli::command(arguments))
}

/// Images and labels of the built-in digits, one byte per pixel and per label.
#[pyfunction]
fn digits(py: Python<'_>) -> (Bound<'_, PyBytes>, Bound<'_, PyBytes>) {
    use scumble_lab::digits::{images, labels};
    (PyBytes::new(py, &images()), PyBytes::new(py, &labels()))
}

/// The compiled part of scumble.
#[pymodule]
mod _scumble {
    #[pymodule_export]
    use super::command;
    #[pymodule_export]
    use super::device::{DeviceClient, refusals};
    #[pymodule_export]
    use super::digits;
    #[pymodule_export]
    use super::evaluate::{evaluate, evaluation_page};
    #[pymodule_export]
    use super::job::{release_file, release_part, row_groups};
    #[pymodule_export]
    use super::keys::{keygen, sticky_seed};
    #[pymodule_export]
    use super::ledger::{Charge, ledger_statement};
    #[pymodule_export]
    use super::mechanism::{Mechanism, mechanisms};
    #[pymodule_export]
    use super::plan::plan;
    #[pymodule_export]
    use super::release::{Release, certificate_mechanism, estimate, estimate_with_query, search, verify};
    #[pymodule_export]
    use super::releaser::Releaser;
    #[pymodule_export]
    use super::statistics::{decode, statistics};
    #[pymodule_export]
    use super::structure::{learn_bins, learn_bins_from_release, learn_components, make_book, public_name};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // A panic must not carry a value of the input to the terminal: the hook says where, never what.
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
            eprintln!("scumble: internal error{}. Please report it", place.unwrap_or_default());
        }));
        let defaults = [
            ("TOP", scumble::search::TOP),
            ("REPETITIONS", scumble_lab::evaluate::sweep::REPETITIONS),
            ("COMPONENTS", scumble::structure::COMPONENTS),
            ("BOOK_WORDS", scumble::structure::BOOK_WORDS),
            ("LARGEST", scumble::statistics::LARGEST),
        ];
        for (name, value) in defaults {
            module.add(name, value)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
