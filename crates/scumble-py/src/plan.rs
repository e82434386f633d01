//! What to choose and what to expect of it, before any budget is spent.

use crate::errors::{Named, OrRaise, raise};
use crate::input::Input;
use crate::mechanism::ask;
use pyo3::prelude::*;
use scumble::plan::{self as planner, AskError, Choice, PlanError};
use serde_json::{Value, json};

impl Named for PlanError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Parameters(error) => error.named(py),
            Self::Sample(error) => error.named(py),
        }
    }
}

impl Named for AskError {
    fn named(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Plan(error) => error.named(py),
            _ => raise(py, "ScumbleError", self),
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

/// The choices as JSON, the one to take first. What was not given is left open; with a sample the result is not private.
#[pyfunction]
#[pyo3(signature = (asked, sample))]
pub fn plan<'py>(py: Python<'py>, asked: &str, sample: Option<Input<'py>>) -> PyResult<String> {
    let (dim, ask) = ask(asked).or_raise(py)?;
    let request = ask.request(dim, None).or_raise(py)?;
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
