//! `scumble plan`: what to expect, and what to choose, before any budget is spent.

use crate::exit::{Exit, Failure, flag};
use crate::options::{Global, InputOptions, MechanismOptions, PublicOptions};
use crate::print::{self, Paint, number, warn};
use clap::{Args, ValueHint};
use scumble::error::worded;
use scumble::files::{Batch, read_all};
use scumble::mechanism::Given;
use scumble::plan::{self, Choice, Forecast, LookedAt, Measured, PlanError, PublicSample, Request};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Forecast noise, errors, recall and storage, and choose mechanism and k
///
/// Reads public numbers only, so its output may be shown to anyone. With --public-sample it learns bins, components or a
/// book from PUBLIC rows and tries them: that output is public too. With --sample it releases and searches rows of your
/// own: that output is internal, and a choice made with private rows is outside the guarantee.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble plan --dim 784 --epsilon 5 --range 0,1 --norm 9\n  scumble plan --dim 384 \
                  --epsilon 10 --range -0.25,0.25 --norm 1 --bytes 64 --json\n  scumble plan --public-sample public.npy \
                  --epsilon 1 --range 0,1\n  scumble plan --like images:28x28 --epsilon 1 --range 0,255"
)]
pub struct Plan {
    /// Number of attributes [default: that of the sample or of the images]
    #[arg(long, value_name = "P", required_unless_present_any = ["sample", "public_sample", "like"])]
    dim: Option<usize>,
    /// Simulate on rows of this file: the output is internal, not private
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, conflicts_with_all = ["public_sample", "like"])]
    sample: Option<PathBuf>,
    #[command(flatten)]
    public: PublicOptions,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    mechanism: MechanismOptions,
}

impl Plan {
    /// Plans and prints.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let read = |path: &PathBuf| read_all(path, &self.reading.read_options(self.dim));
        let sample = self.sample.as_ref().map(read).transpose()?;
        let public = self.public.read(&self.reading, self.dim)?;
        let shown = sample.as_ref().map(Batch::rows).or(public.as_ref().map(PublicSample::rows)).map(|rows| rows.dim());
        let images = self.public.like.map(|grid| grid.dim());
        let dim = shown.or(self.dim).or(images).expect("clap asks for one of them");
        if let Some(found) = images.filter(|found| *found != dim) {
            return Err(Failure::error(format!("--like has images of {found} values, but the rows have {dim}")));
        }
        let request = self.mechanism.ask()?.request(dim, None)?;
        let plan = match &sample {
            Some(batch) => plan::plan_with_sample(&request, batch.rows()),
            None => plan::plan_with_public(&request, self.public.public(&public)),
        };
        let path = self.sample.as_deref().or(self.public.public_sample.as_deref());
        let plan = plan.map_err(|error| at(path, error))?;
        if self.sample.is_some() {
            warn(INTERNAL);
        }
        plan.best.mechanism.warnings().iter().for_each(|warning| warn(warning));
        global.show(|| self.as_json(&request, &plan), || self.text(&request, &plan))
    }

    fn text(&self, request: &Request, plan: &plan::Plan) -> String {
        let paint = Paint::stdout();
        let facts = plan.facts(request, self.looked_at()).text();
        let mut text = format!("{}\n{facts}", paint.strong(&request.headline()));
        if plan.others.len() > 1 {
            text.push_str(&format!("\n{}\n", paint.strong("Alternatives")));
            text.push_str(&alternatives(plan, paint));
        }
        text.push_str(&format!("\n{} {}\n", paint.strong("Next:"), self.command(&plan.best)));
        worded(&text, flag)
    }

    fn looked_at(&self) -> LookedAt {
        match (&self.sample, &self.public.public_sample) {
            (Some(_), _) => LookedAt::OwnRows,
            (None, Some(_)) => LookedAt::PublicRows,
            (None, None) => LookedAt::Nothing,
        }
    }

    /// The commands that release with this choice: first the public file that it rests on, if there is one.
    fn command(&self, choice: &Choice) -> String {
        let (mut first, mut words) = (String::new(), "scumble release IN --out OUT.parquet".to_owned());
        for (name, given) in choice.given() {
            let value = match given {
                Given::Value(_) if name == "seed" && self.mechanism.seed_is_fresh() => continue,
                Given::Value(value) => format!(" {value}"),
                Given::Consent => String::new(),
                Given::File => {
                    let (file, made) = self.public_file(name, choice);
                    first.push_str(&made);
                    format!(" {file}")
                }
            };
            words.push_str(&format!(" {}{value}", flag(name)));
        }
        first + &words
    }

    /// The public file that `verb` makes, and the command that makes it if it is not there yet.
    fn public_file(&self, verb: &str, choice: &Choice) -> (String, String) {
        let MechanismOptions { bins, components, book, .. } = &self.mechanism;
        let given =
            [("bins", bins), ("components", components), ("book", book)].into_iter().find(|(it, _)| *it == verb);
        if let Some((_, Some(file))) = given {
            return (quoted(file), String::new());
        }
        let sample = self.public.public_sample.as_ref().expect("a file comes from the caller or from a sample");
        let (file, dim) = (quoted(&sample.with_extension(verb)), self.dim.map(|dim| format!(" --dim {dim}")));
        let size = if verb == "book" { String::new() } else { format!(" -k {}", choice.mechanism.k()) };
        let (sample, dim) = (quoted(sample), dim.unwrap_or_default());
        let made = format!("scumble {verb} --sample {sample}{dim}{size} --out {file} && ");
        (file, made)
    }

    fn as_json(&self, request: &Request, plan: &plan::Plan) -> Value {
        let mechanism = &plan.best.mechanism;
        let (claim, guarantee) = (mechanism.claim(), mechanism.promise().guarantee());
        let (what, expected) = plan.best.expected(self.looked_at());
        let choice = |choice: &Choice| json!({ "forecast": choice.forecast, "measured": choice.measured });
        json!({
            "internal": self.sample.is_some(),
            "structure": plan.best.structure(),
            (what): worded(&expected, flag),
            "why": worded(&plan.why(request), flag),
            "parameters": mechanism.parameters(),
            "guarantee": guarantee,
            "promise": guarantee.map(|guarantee| guarantee.sentence()),
            "claim": claim.headlines(),
            "any_value": claim.any_value,
            "whole_row": claim.whole_row,
            "expect": request.expectation(),
            "warnings": mechanism.warnings(),
            "best": choice(&plan.best),
            "alternatives": plan.others.iter().map(choice).collect::<Vec<_>>(),
            "release": self.command(&plan.best),
        })
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// A fault of a sample, with its file.
fn at(path: Option<&Path>, error: PlanError) -> Failure {
    match (error, path) {
        (PlanError::Sample(error), Some(path)) => Failure::of_file(path, error),
        (other, _) => other.into(),
    }
}

/// Said wherever rows were looked at.
const INTERNAL: &str = "this output was computed from the sample's rows: it is INTERNAL, as private as they are. \
                        Parameters chosen with it are outside the guarantee unless the sample is public";

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
            if let Some((private, exact)) = choice.measured.map(|measured| measured.shares()) {
                cells.extend([private, exact].map(|share| format!("{share:.2}")));
            }
            cells
        })
        .collect();
    let mut head = vec!["mechanism", "k", "clip", "encoding", "bytes", "correlation"];
    match plan.best.measured {
        Some(Measured::Search { .. }) => head.extend(["recall", "exact query"]),
        Some(Measured::Training { .. }) => head.extend(["accuracy", "exact rows"]),
        None => {}
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
