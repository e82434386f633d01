//! What to choose and what to expect of it, before any budget is spent.

use crate::errors::{Named, OrRaise};
use crate::input::Input;
use crate::mechanism::complete;
use pyo3::prelude::*;
use scumble::plan::{self as planner, Choice, PlanError, Request};
use serde_json::{Value, json};

impl Named for PlanError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameters(error) => error.named(py),
            Self::Sample(error) => error.named(py),
        }
    }
}

fn to_json(choice: &Choice) -> Value {
    json!({
        "parameters": choice.mechanism.parameters(),
        "encoding": choice.encoding.to_string(),
        "forecast": choice.forecast,
        "measured": choice.measured,
    })
}

/// The choices as JSON, the one to take first. What is None is left open; with a sample the result is not private.
#[pyfunction]
#[pyo3(signature = (parameters, mechanism, k, encoding, bytes, sample))]
pub fn plan<'py>(
    py: Python<'py>,
    parameters: &str,
    mechanism: Option<&str>,
    k: Option<usize>,
    encoding: Option<&str>,
    bytes: Option<usize>,
    sample: Option<Input<'py>>,
) -> PyResult<String> {
    let parameters = complete(parameters).or_raise(py)?;
    let dim = parameters.dim;
    let request = Request {
        parameters,
        mechanism: mechanism.map(str::parse).transpose().or_raise(py)?,
        k,
        encoding: encoding.map(str::parse).transpose().or_raise(py)?,
        bytes,
    };
    let plan = match sample {
        Some(sample) => {
            let held = sample.hold(py, dim, 0)?;
            let rows = held.whole(py)?;
            py.detach(|| planner::plan_with_sample(&request, rows))
        }
        None => py.detach(|| planner::plan(&request)),
    };
    let plan = plan.or_raise(py)?;
    let choices: Vec<_> = std::iter::once(&plan.best).chain(&plan.others).map(to_json).collect();
    Ok(Value::from(choices).to_string())
}
