//! Figures of a whole release, and its rows with noise removed.

use crate::errors::{OrRaise, raise};
use crate::input::Input;
use crate::release::Release;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use scumble::decode::{Decoder, Method};
use scumble::search::ExactQueries;
use scumble::statistics::{self as figures, Attributes, Options, Target};

/// The figures as JSON; of `release` minus `since` if that is given.
#[pyfunction]
#[pyo3(signature = (release, since, target, simultaneous, false_reports, attributes, largest, centroids, shuffled))]
#[allow(clippy::too_many_arguments)] // the options of the library, one by one
pub fn statistics<'py>(
    py: Python<'py>,
    release: &Release,
    since: Option<&Release>,
    target: &str,
    simultaneous: bool,
    false_reports: Option<u64>,
    attributes: Option<Vec<usize>>,
    largest: usize,
    centroids: Option<Input<'py>>,
    shuffled: Option<f64>,
) -> PyResult<String> {
    let target = match target {
        "population" => Target::Population,
        "rows" => Target::Rows,
        _ => return Err(raise(py, "ParameterError", "target must be population or rows")),
    };
    let (release, since) = (&release.inner, since.map(|since| &since.inner));
    let held = centroids.map(|input| input.hold(py, release.mechanism().parameters().dim, 0)).transpose()?;
    let exact = match &held {
        Some(held) => {
            let rows = held.whole(py)?;
            Some(py.detach(|| ExactQueries::project(release.mechanism(), rows)).or_raise(py)?)
        }
        None => None,
    };
    let options = Options {
        target,
        simultaneous,
        false_reports,
        attributes: attributes.map_or(Attributes::Largest(largest), Attributes::These),
        centroids: exact.as_ref(),
        shuffled,
    };
    let told = py.detach(|| match since {
        Some(since) => figures::difference(since, release, &options),
        None => figures::of(release, &options),
    });
    Ok(serde_json::to_string(&told.or_raise(py)?).expect("figures have only JSON values"))
}

/// The rows of `release` (of `of` by default, which the decoder is fitted on) with noise removed.
#[pyfunction]
pub fn decode<'py>(
    py: Python<'py>,
    of: &Release,
    release: Option<&Release>,
    name: &str,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let (method, release) = (name.parse::<Method>().or_raise(py)?, &release.unwrap_or(of).inner);
    let decoded = py.detach(|| Decoder::fit(&of.inner, method)?.decode(release)).or_raise(py)?;
    let shape = [decoded.len(), decoded.k];
    PyArray1::from_vec(py, decoded.values).reshape(shape)
}
