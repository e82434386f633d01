//! `scumble plan`: what to expect, and what to choose, before any budget is spent.

use crate::exit::{Exit, Failure};
use crate::options::{Global, InputOptions, MechanismOptions};
use crate::print::{self, Facts, Paint, grouped, number, warn};
use crate::units::record_expectation;
use clap::{Args, ValueHint};
use scumble::files::{Batch, read_all};
use scumble::mechanism::Parameters;
use scumble::plan::{self, Choice, Forecast, PlanError, Request, StandardErrors};
use scumble::privacy::{Promise, Unit};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Forecast noise, errors, recall and storage, and choose mechanism and k
///
/// Reads public numbers only, so its output may be shown to anyone. With --sample it releases and searches rows of
/// your own: that output is internal, and a choice made with private rows is outside the guarantee.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble plan --dim 784 --epsilon 5 --range 0,1 --norm 9\n  scumble plan --dim 384 \
                  --epsilon 10 --range -0.25,0.25 --norm 1 --bytes 64 --json"
)]
pub struct Plan {
    /// Number of attributes [default: that of --sample]
    #[arg(long, value_name = "P", required_unless_present = "sample")]
    dim: Option<usize>,
    /// Simulate on rows of this file: the output is internal, not private
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    sample: Option<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    mechanism: MechanismOptions,
}

impl Plan {
    /// Plans and prints.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let sample = match &self.sample {
            Some(path) => Some(read_all(path, &self.reading.read_options(self.dim))?),
            None => None,
        };
        let dim = sample.as_ref().map(|batch| batch.rows().dim()).or(self.dim).expect("clap asks for one of them");
        let request = self.mechanism.ask()?.request(dim, None)?;
        let plan = match &sample {
            Some(batch) => self.on_sample(&request, batch)?,
            None => plan::plan(&request)?,
        };
        if self.sample.is_some() {
            warn(INTERNAL);
        }
        plan.best.mechanism.warnings().iter().for_each(|warning| warn(warning));
        if global.json {
            print::emit_json(&as_json(&request, &plan, self.sample.is_some()))?;
        } else {
            print::emit(&self.text(&request, &plan))?;
        }
        Ok(Exit::Done)
    }

    fn on_sample(&self, request: &Request, batch: &Batch) -> Result<plan::Plan, Failure> {
        plan::plan_with_sample(request, batch.rows()).map_err(|error| match error {
            PlanError::Sample(error) => {
                let path = self.sample.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
                Failure::error(format!("{path}: {error}"))
            }
            other => other.into(),
        })
    }

    fn text(&self, request: &Request, plan: &plan::Plan) -> String {
        let paint = Paint::stdout();
        let best = &plan.best;
        let mut text = format!("{}\n{}", paint.strong(&headline(request)), facts(request, plan).text());
        if plan.others.len() > 1 {
            text.push_str(&format!("\n{}\n", paint.strong("Alternatives")));
            text.push_str(&alternatives(plan, paint));
        }
        text.push_str(&format!("\n{} {}\n", paint.strong("Next:"), command(best)));
        text
    }
}

/// Said where no rows were looked at.
const UNKNOWN: &str = "not known: how many neighbours a search finds depends on how the rows lie to each other, which public \
                       numbers do not tell; --sample FILE measures it on rows that you may look at";

/// Said wherever rows were looked at.
const INTERNAL: &str = "this output was computed from the sample's rows: it is INTERNAL, as private as they are. \
                        Parameters chosen with it are outside the guarantee unless the sample is public";

fn headline(request: &Request) -> String {
    let Parameters { dim, range, epsilon, unit, beta, .. } = request.parameters;
    let beta = if unit == Unit::Record { String::new() } else { format!(", beta {beta}") };
    format!("{} attributes in [{}, {}], unit {unit}{beta}, epsilon {epsilon}", grouped(dim as u64), range.lo, range.hi)
}

fn facts(request: &Request, plan: &plan::Plan) -> Facts {
    let best = &plan.best;
    let forecast = &best.forecast;
    let mut facts = Facts::default();
    facts.add("mechanism", format!("{}: {}", forecast.mechanism, forecast.mechanism.summary()));
    facts.add("why", reason(request, plan));
    facts.add(
        "sketch",
        format!(
            "k = {}{}{}, {}, {} bytes a row",
            forecast.k,
            if forecast.repeats > 1 { format!(", {} repetitions", forecast.repeats) } else { String::new() },
            forecast.sketch_clip.map(|c| format!(", clipped to [-{c}, {c}]")).unwrap_or_default(),
            forecast.encoding,
            grouped(forecast.bytes_per_row as u64)
        ),
    );
    if let Some(noise) = forecast.noise_deviation {
        let signal = number(forecast.signal_deviation);
        facts.add("noise", format!("standard deviation {} a value, on a signal of {signal}", number(noise)));
    }
    if let Some(flips) = forecast.flips {
        let (border, mean) = (number(100.0 * flips.at_the_border), number(100.0 * flips.mean));
        facts.add("flips", format!("{border}% of the bits next to the border, {mean}% on average"));
    }
    facts.add("errors", errors(&forecast.standard_errors));
    if let Some(measured) = &best.measured {
        facts.add(
            "recall",
            format!(
                "measured on the sample ({} rows, {} queries): recall@{} {:.2} both sides private, {:.2} exact query; in a \
                 larger table it is lower",
                grouped(measured.rows as u64),
                measured.queries,
                measured.top,
                measured.recall.private,
                measured.recall.exact_query
            ),
        );
    } else {
        facts.add("recall", UNKNOWN);
    }
    match best.mechanism.promise() {
        Promise::Private(guarantee) => facts.add("promise", guarantee.sentence()),
        Promise::NotPrivate(_) => facts.add("promise", "NONE: this is not differentially private"),
    };
    let [claim, first, second] = best.mechanism.claim().headlines();
    facts.add("claim", claim);
    facts.add("", first);
    facts.add("", second);
    if request.parameters.unit == Unit::Record {
        facts.add("expect", record_expectation(request.parameters.epsilon));
    }
    facts
}

fn errors(errors: &StandardErrors) -> String {
    let all = [
        ("inner product", errors.inner_product),
        ("squared norm", errors.squared_norm),
        ("squared distance", errors.squared_distance),
        ("cosine", errors.cosine),
        ("angle", errors.angle),
    ];
    let told: Vec<String> =
        all.iter().filter_map(|(name, error)| error.map(|error| format!("{name} {}", number(error)))).collect();
    match told.is_empty() {
        true => "the release ranks rows, but does not tell lengths or angles".into(),
        false => format!("standard errors for two typical rows: {}", told.join(", ")),
    }
}

/// Why this one, in a sentence.
fn reason(request: &Request, plan: &plan::Plan) -> String {
    let best = &plan.best.forecast;
    if request.mechanism.is_some() && request.k.is_some() {
        return "as asked for".into();
    }
    let measured = plan.best.measured.is_some();
    let basis = match (measured, request.parameters.norm.is_some() || request.parameters.density.is_some()) {
        (true, _) => "in a trial on the sample",
        (false, true) => "for rows of the given norm and density",
        (false, false) => "for values spread evenly over the range; give --norm and --density for a better forecast",
    };
    let limit = request.bytes.map(|bytes| format!(" within {bytes} bytes a row")).unwrap_or_default();
    let rival = plan.others.iter().find(|choice| choice.mechanism.id() != best.mechanism);
    let against = rival
        .map(|rival| {
            let (id, k) = (rival.mechanism.id(), rival.mechanism.k());
            format!("; next is {id} at k = {k}")
        })
        .unwrap_or_default();
    let unit = match (request.mechanism, request.parameters.unit) {
        (None, Unit::L1) => " (staircase and bits have no proof for l1)",
        (None, Unit::L2) => " (only Gaussian noise has a proof for l2)",
        (None, Unit::Record) => " (only whole-record mechanisms are useful for records)",
        _ => "",
    };
    let what = if request.bytes.is_some() { "ranked first" } else { "the smallest row within 1% of the first" };
    format!("{what}{limit} {basis}{against}{unit}")
}

fn alternatives(plan: &plan::Plan, paint: Paint) -> String {
    let key = |choice: &Choice| (choice.mechanism.id(), choice.mechanism.k());
    let shown: Vec<&Choice> = plan.others.iter().take(8).collect();
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|choice| {
            let Forecast { mechanism, k, ref encoding, bytes_per_row, sketch_clip, correlation, .. } = choice.forecast;
            let clip = sketch_clip.map_or("-".into(), number);
            let mut cells =
                vec![mechanism.to_string(), k.to_string(), clip, encoding.clone(), bytes_per_row.to_string()];
            cells.push(format!("{correlation:.2}"));
            if let Some(measured) = choice.measured {
                cells.extend(
                    [measured.recall.private, measured.recall.exact_query].map(|recall| format!("{recall:.2}")),
                );
            }
            cells
        })
        .collect();
    let mut head = vec!["mechanism", "k", "clip", "encoding", "bytes", "correlation"];
    if plan.best.measured.is_some() {
        head.extend(["recall", "exact query"]);
    }
    let mut lines = print::table(&head, &rows);
    lines[0] = paint.faint(&lines[0]);
    for (line, choice) in lines[1..].iter_mut().zip(&shown) {
        if key(choice) == key(&plan.best) {
            *line = paint.good(line);
        }
    }
    lines.join("\n") + "\n"
}

/// The command that releases with this choice.
fn command(choice: &Choice) -> String {
    let p = choice.mechanism.parameters();
    let mut words = format!("scumble release IN --out OUT.parquet --mechanism {} --epsilon {}", p.mechanism, p.epsilon);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push_str(&format!(" --{name} {value}"));
        }
    };
    add("delta", p.delta.map(|delta| format!("{delta:e}")));
    add("beta", (p.unit != Unit::Record).then(|| p.beta.to_string()));
    add("range", Some(format!("{},{}", p.range.lo, p.range.hi)));
    add("unit", (p.unit != Unit::Attribute).then(|| p.unit.to_string()));
    add("k", (!p.mechanism.is_raw()).then(|| p.k.to_string()));
    add("repeats", (p.repeats > 1).then(|| p.repeats.to_string()));
    add("sketch-clip", p.sketch_clip.map(|clip| clip.to_string()));
    add("norm", p.norm.map(|norm| norm.to_string()));
    add("density", p.density.map(|density| density.to_string()));
    add("encoding", Some(choice.encoding.to_string()));
    words.replace(" --k ", " -k ")
}

fn as_json(request: &Request, plan: &plan::Plan, sampled: bool) -> Value {
    let claim = plan.best.mechanism.claim();
    let choice = |choice: &Choice| json!({ "forecast": choice.forecast, "measured": choice.measured });
    json!({
        "internal": sampled,
        "why": reason(request, plan),
        "parameters": plan.best.mechanism.parameters(),
        "guarantee": plan.best.mechanism.promise().guarantee(),
        "promise": plan.best.mechanism.promise().guarantee().map(|guarantee| guarantee.sentence()),
        "claim": claim.headlines(),
        "any_value": claim.any_value,
        "whole_row": claim.whole_row,
        "expect": (request.parameters.unit == Unit::Record).then(|| record_expectation(request.parameters.epsilon)),
        "warnings": plan.best.mechanism.warnings(),
        "best": choice(&plan.best),
        "alternatives": plan.others.iter().map(choice).collect::<Vec<_>>(),
        "release": command(&plan.best),
    })
}
