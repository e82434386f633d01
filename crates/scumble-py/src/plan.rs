//! What to choose and what to expect of it, before any budget is spent.

use crate::errors::OrRaise;
use crate::input::Input;
use crate::interrupt::interruptible;
use pyo3::prelude::*;
use scumble::plan::{self as planner, Choice, Public, images_like, parse_ask, with_content};
use serde_json::{Value, json};

fn to_json(choice: &Choice) -> Value {
    json!({
        "parameters": choice.mechanism.parameters(),
        "encoding": choice.encoding.to_string(),
        "forecast": choice.forecast,
        "measured": choice.measured,
        "telling": choice.measured.is_some_and(|measured| measured.is_telling()),
    })
}

/// The choices as JSON, the one to take first. What was not given is left open; with a sample that is not public the
/// result is not private. `public_classes`: of the public sample, if a model is to be trained on it.
#[pyfunction]
#[pyo3(signature = (asked, sample, public_sample, public_classes, like))]
pub fn plan<'py>(
    py: Python<'py>,
    asked: &str,
    sample: Option<Input<'py>>,
    public_sample: Option<Input<'py>>,
    public_classes: Option<Vec<u32>>,
    like: Option<&str>,
) -> PyResult<String> {
    let images = like.map(images_like).transpose().or_raise(py)?;
    let (dim, ask) = parse_ask(asked).or_raise(py)?;
    let request = ask.request(dim, None).or_raise(py)?;
    let plan = match (sample, public_sample) {
        (Some(sample), _) => {
            let held = sample.hold(py, dim, 0)?;
            let rows = held.whole(py)?;
            interruptible(py, || planner::plan_with_sample(&request, rows))?
        }
        (None, Some(public)) => {
            let held = public.hold(py, dim, 0)?;
            let (sample, classes) = (Some(held.whole(py)?), public_classes.as_deref());
            interruptible(py, || planner::plan_with_public(&request, Public { sample, classes, images }))?
        }
        (None, None) => py.detach(|| planner::plan_with_public(&request, Public { images, ..Public::default() })),
    };
    let plan = plan.or_raise(py)?;
    let mut choices: Vec<_> = std::iter::once(&plan.best).chain(&plan.others).map(to_json).collect();
    choices[0]["parameters"] = with_content(plan.best.mechanism.parameters());
    Ok(Value::from(choices).to_string())
}
