//! `scumble plan`: what to expect, and what to choose, before any budget is spent.

use crate::exit::{Exit, Failure};
use crate::options::{Global, InputOptions, MechanismOptions, PublicOptions, PublicSample};
use crate::print::{self, Facts, Paint, grouped, number, warn};
use crate::units::record_expectation;
use clap::{Args, ValueHint};
use scumble::files::{Batch, read_all};
use scumble::mechanism::{Parameters, SignrpMode};
use scumble::plan::{self, Choice, Forecast, Measured, PlanError, Request, StandardErrors};
use scumble::privacy::{Promise, Unit};
use scumble::projection::Partition;
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
        let sample = match &self.sample {
            Some(path) => Some(read_all(path, &self.reading.read_options(self.dim))?),
            None => None,
        };
        let public = self.public.read(&self.reading, self.dim)?;
        let shown = sample.as_ref().map(Batch::rows).or(public.as_ref().map(PublicSample::rows)).map(|rows| rows.dim());
        let images = self.public.like.map(|grid| grid.dim());
        let dim = shown.or(self.dim).or(images).expect("clap asks for one of them");
        if let Some(found) = images.filter(|found| *found != dim) {
            return Err(Failure::error(format!("--like has images of {found} values, but the rows have {dim}")));
        }
        let request = self.mechanism.ask()?.request(dim, None)?;
        let plan = match &sample {
            Some(batch) => self.on_sample(&request, batch)?,
            None => plan::plan_with_public(&request, self.public.public(&public))
                .map_err(|error| at(self.public.public_sample.as_deref(), error))?,
        };
        if self.sample.is_some() {
            warn(INTERNAL);
        }
        plan.best.mechanism.warnings().iter().for_each(|warning| warn(warning));
        if global.json {
            print::emit_json(&self.as_json(&request, &plan))?;
        } else {
            print::emit(&self.text(&request, &plan))?;
        }
        Ok(Exit::Done)
    }

    fn on_sample(&self, request: &Request, batch: &Batch) -> Result<plan::Plan, Failure> {
        plan::plan_with_sample(request, batch.rows()).map_err(|error| at(self.sample.as_deref(), error))
    }

    fn text(&self, request: &Request, plan: &plan::Plan) -> String {
        let paint = Paint::stdout();
        let best = &plan.best;
        let mut text = format!("{}\n{}", paint.strong(&headline(request)), self.facts(request, plan).text());
        if plan.others.len() > 1 {
            text.push_str(&format!("\n{}\n", paint.strong("Alternatives")));
            text.push_str(&alternatives(plan, paint));
        }
        text.push_str(&format!("\n{} {}\n", paint.strong("Next:"), self.command(best)));
        text
    }

    fn facts(&self, request: &Request, plan: &plan::Plan) -> Facts {
        let best = &plan.best;
        let forecast = &best.forecast;
        let mut facts = Facts::default();
        facts.add("mechanism", format!("{}: {}", forecast.mechanism, forecast.mechanism.summary()));
        facts.add("why", reason(request, plan));
        facts.add(
            "sketch",
            format!(
                "k = {}{}{}, {}, {} bytes per row",
                forecast.k,
                if forecast.repeats > 1 { format!(", {} repetitions", forecast.repeats) } else { String::new() },
                forecast.sketch_clip.map(|c| format!(", clipped to [-{c}, {c}]")).unwrap_or_default(),
                forecast.encoding,
                grouped(forecast.bytes_per_row as u64)
            ),
        );
        if let Some(noise) = forecast.noise_deviation {
            let signal = number(forecast.signal_deviation);
            facts.add("noise", format!("standard deviation {} per value, on a signal of {signal}", number(noise)));
        }
        if let Some(flips) = forecast.flips {
            let (border, mean) = (number(100.0 * flips.at_the_border), number(100.0 * flips.mean));
            facts.add("flips", format!("{border}% of the bits next to the border, {mean}% on average"));
        }
        if let Some(structure) = structure(best) {
            facts.add("structure", structure);
        }
        facts.add("errors", errors(&forecast.standard_errors));
        let (what, expected) = self.expected(best);
        facts.add(what, expected);
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

    /// What a search will find, or a classifier, as far as it is known.
    fn expected(&self, best: &Choice) -> (&'static str, String) {
        let public = self.public.public_sample.is_some();
        let Some(measured) = &best.measured else { return ("recall", UNKNOWN.into()) };
        let (what, enough) = match measured {
            Measured::Search { .. } => ("recall", "1,200"),
            Measured::Training { .. } => ("accuracy", "1,400"),
        };
        if public && !measured.is_telling() {
            let why = "not said: the public sample is too small to tell what to expect";
            return (what, format!("{why}; give {enough} rows or more"));
        }
        let how = match public {
            true => "expected of rows like the sample's, from a trial on public rows that taught nothing",
            false => "measured on the sample",
        };
        let found = match *measured {
            Measured::Search { rows, queries, top, recall } => format!(
                "({} rows, {queries} queries): recall@{top} {:.2} both sides private, {:.2} exact query; in a larger table \
                 it is lower",
                grouped(rows as u64),
                recall.private,
                recall.exact_query
            ),
            Measured::Training { rows, tested, accuracy } => format!(
                "(ridge on {} released rows, {} tested): accuracy {:.2} tested on released rows, {:.2} on exact ones{}; with \
                 more rows it is higher",
                grouped(rows as u64),
                grouped(tested as u64),
                accuracy.private,
                accuracy.exact_rows,
                accuracy.without_privacy.map(|share| format!(", {share:.2} without privacy")).unwrap_or_default()
            ),
        };
        (what, format!("{how} {found}"))
    }

    /// The commands that release with this choice: first the public file that it rests on, if there is one.
    fn command(&self, choice: &Choice) -> String {
        // Every field is named here, so that a new one cannot be forgotten.
        let Parameters {
            mechanism,
            dim: _,
            k,
            repeats,
            epsilon,
            delta,
            beta,
            range,
            unit,
            projection,
            bins,
            components,
            book,
            purpose,
            seed,
            sketch_clip,
            norm_bound,
            clip_norm,
            signrp_mode,
            symbols,
            lattice_steps,
            thresholds,
            norm,
            density,
            grid_exponent,
            i_understand_this_is_not_dp,
        } = choice.mechanism.parameters();
        fn text<T: ToString>(value: &T) -> String {
            value.to_string()
        }
        let cuts = || thresholds.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let mut words = format!("scumble release IN --out OUT.parquet --mechanism {mechanism} --epsilon {epsilon}");
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push_str(&format!(" {name} {value}"));
            }
        };
        add("--delta", delta.map(|delta| format!("{delta:e}")));
        add("--beta", (*unit != Unit::Record).then(|| beta.to_string()));
        add("--range", Some(format!("{},{}", range.lo, range.hi)));
        add("--unit", (*unit != Unit::Attribute).then(|| unit.to_string()));
        add("-k", (!mechanism.is_raw()).then(|| k.to_string()));
        add("--repeats", (*repeats > 1).then(|| repeats.to_string()));
        add("--seed", (!self.mechanism.seed_is_fresh()).then(|| seed.to_hex()));
        add("--projection", projection.as_ref().map(text));
        add("--sketch-clip", sketch_clip.as_ref().map(text));
        add("--clip-norm", clip_norm.as_ref().map(text));
        add("--norm-bound", norm_bound.as_ref().map(text));
        add("--signrp-mode", (*signrp_mode == SignrpMode::Paper).then(|| "paper".to_owned()));
        add("--norm", norm.as_ref().map(text));
        add("--density", density.as_ref().map(text));
        add("--symbols", symbols.as_ref().map(text));
        add("--lattice-steps", lattice_steps.as_ref().map(text));
        add("--thresholds", (!thresholds.is_empty()).then(cuts));
        add("--grid-exponent", grid_exponent.as_ref().map(text));
        add("--encoding", Some(choice.encoding.to_string()));
        add("--for", purpose.as_ref().map(text));
        if let Some(Partition::Grid(grid)) = bins {
            add("--bins", Some(grid.to_string()));
        }
        let mut first = String::new();
        let learned = matches!(bins, Some(Partition::File(_)));
        let sized = format!(" -k {k}");
        let files = [
            ("bins", learned, &*sized, &self.mechanism.bins),
            ("components", components.is_some(), &sized, &self.mechanism.components),
            ("book", book.is_some(), "", &self.mechanism.book),
        ];
        for (verb, _, size, given) in files.into_iter().filter(|(_, needed, ..)| *needed) {
            let option = format!("--{verb}");
            match (given, &self.public.public_sample) {
                (Some(file), _) => add(&option, Some(quoted(file))),
                (None, Some(sample)) => {
                    let (file, dim) =
                        (quoted(&sample.with_extension(verb)), self.dim.map(|dim| format!(" --dim {dim}")));
                    let (sample, dim) = (quoted(sample), dim.unwrap_or_default());
                    first = format!("scumble {verb} --sample {sample}{dim}{size} --out {file} && ");
                    add(&option, Some(file));
                }
                (None, None) => unreachable!("a file comes from the caller or from a sample"),
            }
        }
        if *i_understand_this_is_not_dp {
            words.push_str(" --i-understand-this-is-not-dp");
        }
        first + &words
    }

    fn as_json(&self, request: &Request, plan: &plan::Plan) -> Value {
        let claim = plan.best.mechanism.claim();
        let choice = |choice: &Choice| json!({ "forecast": choice.forecast, "measured": choice.measured });
        json!({
            "internal": self.sample.is_some(),
            "structure": structure(&plan.best),
            (self.expected(&plan.best).0): self.expected(&plan.best).1,
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
        (PlanError::Sample(error), Some(path)) => Failure::error(format!("{}: {error}", path.display())),
        (other, _) => other.into(),
    }
}

/// What public knowledge was taken, in words.
fn structure(choice: &Choice) -> Option<String> {
    let p = choice.mechanism.parameters();
    match (&p.bins, &p.components, &p.book) {
        (Some(Partition::Grid(grid)), ..) => Some(format!("{} blocks of neighbouring pixels ({grid})", p.k)),
        (Some(Partition::File(_)), ..) => Some(format!("{} bins of attributes that move together", p.k)),
        (_, Some(_), _) => Some(format!("{} main directions of the public rows", p.k)),
        (.., Some(book)) => {
            let words = book.content().map_or(0, |table| table.shape().0);
            Some(format!("a book of {} public words", grouped(words as u64)))
        }
        _ => None,
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
        (true, _) => "in a trial on the sample's rows",
        (false, true) => "for rows of the given norm and density",
        (false, false) => "for values spread evenly over the range; give --norm and --density for a better forecast",
    };
    let limit = request.bytes.map(|bytes| format!(" within {bytes} bytes per row")).unwrap_or_default();
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
        (None, Unit::Attribute) | (Some(_), Unit::Attribute | Unit::L1 | Unit::L2 | Unit::Record) => "",
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
