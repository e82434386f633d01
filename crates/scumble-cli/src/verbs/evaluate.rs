//! `scumble evaluate`: what is left of a user's own data after a release, by mechanism, epsilon and k.

use crate::exit::{Exit, Failure};
use crate::options::{Auto, Global, InputOptions, PublicOptions, classes, mechanism_parser, parse_range};
use crate::print;
use clap::{Args, ValueHint};
use scumble::files::{WriteError, check_new, read_all, read_partition, write_whole};
use scumble::mechanism::MechanismId;
use scumble::plan::Ask;
use scumble::privacy::Unit;
use scumble::release::Encoding;
use scumble::vectors::Range;
use scumble_lab::evaluate::Outcomes;
use scumble_lab::evaluate::menu::Menu;
use scumble_lab::evaluate::page::evaluation;
use scumble_lab::evaluate::sweep::{self, REPETITIONS, Settings, SweepError};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Measure what a release keeps of your own data: retrieval, and classification if there are labels
///
/// Reads the private rows: its report is NOT private and must stay with them. Writes the page, and the measurements
/// beside it as .csv and .parquet.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble evaluate vectors.npy --range 0,1 --mechanisms dp-oporp-staircase,dp-oporp \
                  --epsilons 1,2,5,10 -k 64,256 --out report.html\n  scumble evaluate mail.svm.gz --dim 171642 --range 0,1 --labels \
                  --density 0.004 --mechanisms dp-signoporp-ceil,dp-oporp-zones --epsilons 1,3,5 -k 1024 --out report.html\n  scumble evaluate \
                  digits.npy --range 0,255 --public-sample public.npy --like images:28x28 --mechanisms \
                  auto,dp-oporp-staircase,dp-oporp --epsilons 1,2,5"
)]
pub struct Evaluate {
    /// Your rows
    #[arg(value_name = "DATA", value_hint = ValueHint::AnyPath)]
    data: PathBuf,
    /// Queries from another file [default: rows taken out of DATA]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    queries: Option<PathBuf>,
    /// How many queries
    #[arg(long, value_name = "N", default_value_t = 100)]
    query_count: usize,
    /// Also classify: labels from this file, or from DATA itself if no file is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::AnyPath)]
    labels: Option<Option<PathBuf>>,
    /// Mechanisms to try (`release --help` lists them), or auto: what plan chooses at each epsilon, its encoding and clip
    /// included. With public knowledge (--public-sample, --like) it chooses its own bins and k
    #[arg(
        long,
        value_name = "ID,...",
        value_delimiter = ',',
        default_value = "dp-oporp-staircase,dp-signoporp-ceil,dp-oporp",
        value_parser = mechanism_parser("auto", "What plan chooses at each epsilon, from the public knowledge given here"),
        hide_possible_values = true
    )]
    mechanisms: Vec<Auto<MechanismId>>,
    /// Values of epsilon
    #[arg(long, value_name = "E,...", value_delimiter = ',', default_value = "1,2,5,10")]
    epsilons: Vec<f64>,
    /// Public bins to measure beside OPORP: grid:28x28 (images), or a file of `scumble bins` learned from other rows
    #[arg(long, value_name = "BINS", value_hint = ValueHint::AnyPath)]
    bins: Option<PathBuf>,
    /// Sizes of the sketch
    #[arg(short, long = "k", value_name = "K,...", value_delimiter = ',', default_value = "256")]
    k: Vec<usize>,
    /// Public range of an attribute
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true, value_parser = parse_range)]
    range: Range,
    /// How far the unit may move [default: the width of the range; needed for l1 and l2]
    #[arg(long, value_name = "B")]
    beta: Option<f64>,
    /// Unit of privacy: attribute, l1, l2 or record [default: attribute; record for privcube, signcap and privbook]
    #[arg(long, value_name = "U")]
    unit: Option<Unit>,
    /// Failure probability, for the mechanisms that take one [default: 1e-6 for those that need one]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Encoding of values: f32, i16, b8, b4 or b1
    #[arg(long, value_name = "E")]
    encoding: Option<Encoding>,
    /// Clip projected values before the noise (staircase, Laplace)
    #[arg(long, value_name = "C")]
    sketch_clip: Option<f64>,
    /// Public guess of a row's Euclidean norm (few-symbol mechanisms and encodings)
    #[arg(long, value_name = "N")]
    norm: Option<f64>,
    /// Public guess of the share of attributes that are not zero
    #[arg(long, value_name = "D")]
    density: Option<f64>,
    /// Repetitions, each with its own projection and noise
    #[arg(long, value_name = "N", default_value_t = REPETITIONS)]
    repetitions: usize,
    /// C of the linear model that classifies [default: chosen for every model by cross-validation on its training rows]
    #[arg(long, value_name = "C", requires = "labels")]
    svm_c: Option<f64>,
    /// Consent to mechanisms that are NOT differentially private (idp-...)
    #[arg(long)]
    i_understand_this_is_not_dp: bool,
    /// The report page; an existing file is never replaced, and none beside it
    #[arg(short, long, value_name = "FILE", default_value = "report.html", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Number of attributes: LIBSVM needs it; checked for other kinds
    #[arg(long, value_name = "P")]
    dim: Option<usize>,
    #[command(flatten)]
    public: PublicOptions,
    #[command(flatten)]
    input: InputOptions,
}

impl Evaluate {
    /// Runs the verb.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        self.outputs()?.iter().try_for_each(|out| check_new(out))?;
        print::note("evaluation reads the private rows: the report is not private, keep it with them");
        let mut options = self.input.read_options(self.dim);
        if matches!(self.labels, Some(None)) {
            options.label.get_or_insert_with(|| "label".to_owned());
        }
        let data = read_all(&self.data, &options)?;
        let rows = data.rows();
        let public = self.public.read(&self.input, Some(rows.dim()))?;
        let menu = Menu {
            ask: Ask {
                unit: self.unit,
                beta: self.beta,
                delta: self.delta,
                encoding: self.encoding,
                sketch_clip: self.sketch_clip,
                norm: self.norm,
                density: self.density,
                bins: self.bins.as_deref().map(read_partition).transpose()?,
                i_understand_this_is_not_dp: self.i_understand_this_is_not_dp,
                ..Ask::new(self.epsilons[0], self.range)
            },
            mechanisms: self.mechanisms.iter().map(|mechanism| mechanism.fixed()).collect(),
            k: self.k.clone(),
            public: self.public.public(&public),
        };
        let candidates = menu.candidates(&[rows], &self.epsilons).map_err(|error| self.failure(error))?;
        let mut settings = Settings {
            task: format!("retrieval on {}", file_name(&self.data)),
            epsilons: self.epsilons.clone(),
            repetitions: self.repetitions.max(1),
            depths: vec![10, 50],
            true_neighbours: None,
            exact_queries: true,
            without_privacy: true,
            rows_as_they_are: true,
            svm_c: self.svm_c,
        };
        let mut outcomes = Outcomes::default();
        let bar = print::progress("evaluating");
        let mut progress = |done: usize, of: usize| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        };
        let other = match &self.queries {
            Some(path) => Some(read_all(path, &self.input.read_options(Some(rows.dim())))?),
            None => None,
        };
        let (database, queries) = match &other {
            Some(other) => (rows, other.rows().slice(0, other.rows().len().min(self.query_count))),
            None => {
                let count = self.query_count.min(rows.len() / 10).max(1);
                if rows.len() < 20 {
                    return Err(Failure::error(format!(
                        "{}: too few rows to evaluate, 20 at least",
                        self.data.display()
                    )));
                }
                (rows.slice(0, rows.len() - count), rows.slice(rows.len() - count, count))
            }
        };
        let found = sweep::retrieval(database, queries, &candidates, &settings, &mut progress);
        outcomes.0.extend(found.map_err(|error| self.failure(error))?.0);
        if let Some(classes) = classes(self.labels.as_ref(), &data, &self.data)? {
            let cut = rows.len() * 4 / 5;
            settings.task = format!("classification on {}", file_name(&self.data));
            let train = (rows.slice(0, cut), &classes[..cut]);
            let test = (rows.slice(cut, rows.len() - cut), &classes[cut..]);
            let found = sweep::classification(train, test, &candidates, &settings, &mut progress);
            outcomes.0.extend(found.map_err(|error| self.failure(error))?.0);
        }
        bar.finish_and_clear();
        self.write(&outcomes, rows.len(), rows.dim())?;
        self.report(&outcomes, global)?;
        Ok(Exit::Done)
    }

    fn failure(&self, error: SweepError) -> Failure {
        match error {
            SweepError::Parameters(error) => error.into(),
            SweepError::Plan(error) => error.into(),
            SweepError::Release(error) => Failure::error(format!("{}: {error}", self.data.display())),
            SweepError::Ask(error) => error.into(),
            SweepError::Svm(_) | SweepError::LearnedFromThese | SweepError::Nothing | SweepError::Stopped => {
                Failure::error(error.to_string())
            }
        }
    }

    fn write(&self, outcomes: &Outcomes, rows: usize, dim: usize) -> Result<(), Failure> {
        let subtitle = format!("{}, {rows} rows of {dim} attributes", file_name(&self.data));
        let page = evaluation("What is left after privacy", &subtitle, outcomes, None);
        let (mut csv, mut parquet) = (Vec::new(), Vec::new());
        outcomes.write_csv(&mut csv).map_err(|error| Failure::of_file(&self.out, error))?;
        outcomes.write_parquet(&mut parquet).map_err(|error| Failure::of_file(&self.out, error))?;
        let [page_out, csv_out, parquet_out] = &self.outputs()?;
        Ok(write_whole(&[(page_out, page.render().as_bytes()), (csv_out, &csv), (parquet_out, &parquet)])?)
    }

    /// The page and the measurements beside it: three different names.
    fn outputs(&self) -> Result<[PathBuf; 3], WriteError> {
        let [csv, parquet] = ["csv", "parquet"].map(|extension| self.out.with_extension(extension));
        if [&csv, &parquet].contains(&&self.out) {
            return Err(WriteError::Ending { path: self.out.clone(), what: "the report", endings: ".html" });
        }
        Ok([self.out.clone(), csv, parquet])
    }

    fn report(&self, outcomes: &Outcomes, global: &Global) -> Result<(), Failure> {
        let designs = outcomes.distinct(|o| (o.task.clone(), o.design.clone(), o.k, o.metric.clone()));
        let mut lines = Vec::new();
        for (task, design, k, metric) in designs {
            if !(metric.starts_with("recall@") || metric.starts_with("accuracy")) {
                continue;
            }
            for epsilon in outcomes.distinct(|o| o.epsilon.to_bits()).into_iter().map(f64::from_bits) {
                let wanted = |o: &scumble_lab::evaluate::Outcome| {
                    o.task == task && o.design == design && o.k == k && o.metric == metric && o.epsilon == epsilon
                };
                if let Some(average) = outcomes.average(wanted) {
                    lines.push((task.clone(), design.clone(), k, metric.clone(), epsilon, average.mean, average.half));
                }
            }
        }
        if global.json {
            let rows: Vec<_> = lines
                .iter()
                .map(|(task, design, k, metric, epsilon, mean, half)| {
                    let epsilon = epsilon.is_finite().then_some(*epsilon);
                    json!({"task": task, "design": design, "k": k, "metric": metric, "epsilon": epsilon, "mean": mean, "half": half})
                })
                .collect();
            let report = self.out.to_string_lossy();
            return print::emit(&format!("{}\n", json!({"report": report, "private": false, "results": rows})));
        }
        let mut text = format!("{:<34} {:>6} {:>8}  {:<24} value\n", "design", "k", "epsilon", "metric");
        for (_, design, k, metric, epsilon, mean, half) in &lines {
            let epsilon = if epsilon.is_finite() { epsilon.to_string() } else { "none".into() };
            text += &format!("{design:<34} {k:>6} {epsilon:>8}  {metric:<24} {mean:.3} +- {half:.3}\n");
        }
        text += &format!("\nReport: {} (not private; .csv and .parquet beside it)\n", self.out.display());
        print::emit(&text)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "data".into(), |name| name.to_string_lossy().into_owned())
}
