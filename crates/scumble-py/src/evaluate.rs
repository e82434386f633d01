//! What a user's own data keep: sweeps over mechanisms and epsilons. Sees the private rows; its results are not private.

use crate::errors::{Named, OrRaise, raise};
use crate::input::Input;
use crate::interrupt::interruptible;
use crate::mechanism::ask;
use pyo3::prelude::*;
use scumble_lab::evaluate::sweep::{self, Candidate, Settings, SweepError};
use scumble_lab::evaluate::{Outcome, Outcomes, page};
use serde::Deserialize;
use serde_json::{Value, json};

impl Named for SweepError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameters(error) => error.named(py),
            Self::Release(error) => error.named(py),
            Self::Plan(error) => error.named(py),
            Self::Svm(_) => raise(py, "ParameterError", self),
            Self::Stopped => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// How long and over what.
#[derive(Deserialize)]
struct Request {
    task: String,
    epsilons: Vec<f64>,
    repetitions: usize,
    depths: Vec<usize>,
    without_privacy: bool,
    rows_as_they_are: bool,
    svm_c: Option<f64>,
    encoding: Option<String>,
}

/// Outcomes of one mechanism as JSON: recall and precision, or with labels the accuracy of a linear SVM.
#[pyfunction]
#[pyo3(signature = (rows, queries, labels, parameters, request))]
pub fn evaluate<'py>(
    py: Python<'py>,
    rows: Input<'py>,
    queries: Input<'py>,
    labels: Option<(Vec<u32>, Vec<u32>)>,
    parameters: &str,
    request: &str,
) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).or_raise(py)?;
    let (dim, ask) = ask(parameters).or_raise(py)?;
    let parameters = ask.request(dim, None).or_raise(py)?.parameters;
    let encoding = request.encoding.as_deref().map(str::parse).transpose().or_raise(py)?;
    let (first, second) = (rows.hold(py, parameters.dim, 0)?, queries.hold(py, parameters.dim, 0)?);
    let (first, second) = (first.whole(py)?, second.whole(py)?);
    let candidates = [Candidate::new(parameters, encoding)];
    let settings = Settings {
        task: request.task,
        epsilons: request.epsilons,
        repetitions: request.repetitions,
        depths: request.depths,
        true_neighbours: None,
        exact_queries: true,
        without_privacy: request.without_privacy,
        rows_as_they_are: request.rows_as_they_are,
        svm_c: request.svm_c,
    };
    let outcomes = interruptible(py, || match &labels {
        Some((train, test)) => {
            sweep::classification((first, train), (second, test), &candidates, &settings, &mut |_, _| ())
        }
        None => sweep::retrieval(first, second, &candidates, &settings, &mut |_, _| ()),
    })?;
    Ok(Value::from(outcomes.or_raise(py)?.0.iter().map(to_json).collect::<Vec<_>>()).to_string())
}

fn to_json(outcome: &Outcome) -> Value {
    json!({
        "task": outcome.task,
        "design": outcome.design,
        "mechanism": outcome.mechanism,
        "sketch": outcome.sketch,
        "k": outcome.k,
        "repeats": outcome.repeats,
        "encoding": outcome.encoding.to_string(),
        "bits_per_row": outcome.bits_per_row,
        "epsilon": outcome.epsilon.is_finite().then_some(outcome.epsilon), // null: without privacy
        "delta": outcome.delta,
        "repetition": outcome.repetition,
        "metric": outcome.metric,
        "value": outcome.value,
    })
}

fn from_json(row: &Value) -> Option<Outcome> {
    let text = |name: &str| row[name].as_str().map(str::to_owned);
    let whole = |name: &str| row[name].as_u64().map(|n| n as usize);
    Some(Outcome {
        task: text("task")?,
        design: text("design")?,
        mechanism: text("mechanism")?,
        sketch: text("sketch")?,
        k: whole("k")?,
        repeats: whole("repeats")?,
        encoding: text("encoding")?.parse().ok()?,
        bits_per_row: whole("bits_per_row")?,
        epsilon: row["epsilon"].as_f64().unwrap_or(f64::INFINITY),
        delta: row["delta"].as_f64()?,
        repetition: whole("repetition")?,
        metric: text("metric")?,
        value: row["value"].as_f64()?,
    })
}

/// (figures by metric as SVG, the whole page as HTML) of outcomes.
#[pyfunction]
pub fn evaluation_page(py: Python<'_>, title: &str, outcomes: &str) -> PyResult<(Vec<(String, String)>, String)> {
    let rows: Vec<Value> = serde_json::from_str(outcomes).or_raise(py)?;
    let outcomes = Outcomes(rows.iter().filter_map(from_json).collect());
    let figures = outcomes.distinct(|o| o.metric.clone()).into_iter().map(|metric| {
        let svg = page::figure(&outcomes, &metric).to_svg();
        (metric, svg)
    });
    Ok((figures.collect(), page::evaluation(title, "", &outcomes, None).render()))
}
