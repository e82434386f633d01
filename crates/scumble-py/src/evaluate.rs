//! What a user's own data keep: sweeps over mechanisms and epsilons. Sees the private rows; its results are not private.

use crate::errors::{Named, OrRaise, raise};
use crate::input::Input;
use crate::interrupt::interruptible;
use crate::mechanism::ask;
use pyo3::prelude::*;
use scumble::mechanism::MechanismId;
use scumble::plan::{Public, images_like};
use scumble_lab::evaluate::menu::Menu;
use scumble_lab::evaluate::sweep::{self, Settings, SweepError};
use scumble_lab::evaluate::{Outcome, Outcomes, page};
use serde::Deserialize;
use serde_json::{Value, json};

impl Named for SweepError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameters(error) => error.named(py),
            Self::Release(error) => error.named(py),
            Self::Plan(error) => error.named(py),
            Self::Ask(error) => error.named(py),
            Self::Svm(_) | Self::LearnedFromThese | Self::Nothing => raise(py, "ParameterError", self),
            Self::Stopped => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// What is tried, how long and over what.
#[derive(Deserialize)]
struct Request {
    task: String,
    mechanisms: Vec<Option<MechanismId>>,
    k: Vec<usize>,
    like: Option<String>,
    epsilons: Vec<f64>,
    repetitions: usize,
    depths: Vec<usize>,
    without_privacy: bool,
    svm_c: Option<f64>,
}

/// Rows from Python, with classes if there are labels.
type Labelled<'py> = (Input<'py>, Option<Vec<u32>>);

/// Outcomes as JSON: recall and precision, or with labels the accuracy of a linear SVM. `asked`: what all mechanisms have in
/// common.
#[pyfunction]
#[pyo3(signature = (rows, queries, public_sample, asked, request))]
pub fn evaluate<'py>(
    py: Python<'py>,
    rows: Labelled<'py>,
    queries: Labelled<'py>,
    public_sample: Option<Labelled<'py>>,
    asked: &str,
    request: &str,
) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).or_raise(py)?;
    let (dim, ask) = ask(asked).or_raise(py)?;
    let (first, second) = (rows.0.hold(py, dim, 0)?, queries.0.hold(py, dim, 0)?);
    let (first, second) = (first.whole(py)?, second.whole(py)?);
    let (sample, classes) = public_sample.unzip();
    let sample = sample.map(|sample| sample.hold(py, dim, 0)).transpose()?;
    let sample = sample.as_ref().map(|sample| sample.whole(py)).transpose()?;
    let classes = classes.flatten();
    let images = request.like.as_deref().map(images_like).transpose().or_raise(py)?;
    let public = Public { sample, classes: classes.as_deref(), images };
    let menu = Menu { ask, mechanisms: request.mechanisms, k: request.k, public };
    let settings = Settings {
        task: request.task,
        epsilons: request.epsilons,
        repetitions: request.repetitions,
        depths: request.depths,
        true_neighbours: None,
        exact_queries: true,
        without_privacy: request.without_privacy,
        rows_as_they_are: request.without_privacy,
        svm_c: request.svm_c,
    };
    let outcomes = interruptible(py, || {
        let candidates = menu.candidates(&[first, second], &settings.epsilons)?;
        match (&rows.1, &queries.1) {
            (Some(train), Some(test)) => {
                sweep::classification((first, train), (second, test), &candidates, &settings, &mut |_, _| ())
            }
            _ => sweep::retrieval(first, second, &candidates, &settings, &mut |_, _| ()),
        }
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
