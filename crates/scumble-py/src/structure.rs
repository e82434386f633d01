//! Public structure from public rows: bins, components, books, as the bytes of their files.

use crate::errors::OrRaise;
use crate::input::Input;
use crate::interrupt::interruptible;
use crate::release::Release;
use pyo3::prelude::*;
use scumble::mechanism::Beside;
use scumble::projection::Partition;
use scumble::structure::{self, BinsOptions};
use std::borrow::Cow;

/// The content of public files.
pub type Public = Vec<Vec<u8>>;

/// Those files, as what stands beside a certificate.
pub fn beside(py: Python<'_>, public: &Public) -> PyResult<Beside> {
    let mut beside = Beside::default();
    public.iter().try_for_each(|content| beside.add(content)).or_raise(py)?;
    Ok(beside)
}

/// Bins from public rows.
#[pyfunction]
pub fn learn_bins<'py>(py: Python<'py>, rows: Input<'py>, dim: usize, k: usize) -> PyResult<Cow<'static, [u8]>> {
    let held = rows.hold(py, dim, 0)?;
    let rows = held.whole(py)?;
    let bins = interruptible(py, || structure::learn_bins(rows, BinsOptions::new(k)))?.or_raise(py)?;
    Ok(bins.to_text().into_bytes().into())
}

/// Bins from an earlier release of other rows.
#[pyfunction]
pub fn learn_bins_from_release(py: Python<'_>, release: &Release, k: usize) -> PyResult<Cow<'static, [u8]>> {
    let learn = || structure::learn_bins_from_release(&release.inner, BinsOptions::new(k));
    Ok(interruptible(py, learn)?.or_raise(py)?.to_text().into_bytes().into())
}

/// Components from public rows.
#[pyfunction]
pub fn learn_components<'py>(py: Python<'py>, rows: Input<'py>, dim: usize, k: usize) -> PyResult<Cow<'static, [u8]>> {
    let held = rows.hold(py, dim, 0)?;
    let rows = held.whole(py)?;
    Ok(interruptible(py, || structure::learn_components(rows, k))?.or_raise(py)?.to_bytes().into())
}

/// A book of public rows.
#[pyfunction]
pub fn make_book<'py>(py: Python<'py>, rows: Input<'py>, dim: usize, words: usize) -> PyResult<Cow<'static, [u8]>> {
    let held = rows.hold(py, dim, 0)?;
    let rows = held.whole(py)?;
    Ok(py.detach(|| structure::make_book(rows, words)).or_raise(py)?.to_bytes().into())
}

/// The hash of a public file; raises if it is malformed.
#[pyfunction]
pub fn public_name(py: Python<'_>, content: &[u8]) -> PyResult<String> {
    match content.starts_with(b"scumble-bins") {
        true => Ok(Partition::from_file(content).or_raise(py)?.name().trim_start_matches("sha256:").to_owned()),
        false => Ok(scumble::projection::TableFile::from_file(content).or_raise(py)?.name()),
    }
}
