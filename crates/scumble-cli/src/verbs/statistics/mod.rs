//! `scumble statistics`: what a whole release tells, with intervals.

mod page;

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global, InputOptions};
use crate::print::{self, fold, grouped, number};
use clap::{Args, ValueEnum, ValueHint};
use scumble::files::{check_new, open_release_with, read_all, write_whole};
use scumble::mechanism::Beside;
use scumble::release::Release;
use scumble::search::ExactQueries;
use scumble::statistics::{self, Attributes, Family, Figure, Options, Told};
use std::path::{Path, PathBuf};

/// Means, shares, covariances and drift of a release, each with a 95% interval
///
/// Removes the known part of the noise. Where a release does not tell a figure, it says why. Costs no privacy. Exit
/// status 1 if it tells none.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble statistics private.parquet\n  scumble statistics june.parquet --since may.parquet \
                  --simultaneous   (drift)\n  scumble statistics private.parquet --centroids public.npy --out \
                  figures.html\n  scumble statistics collected.parquet --false-reports 100 --shuffled --delta 1e-6"
)]
pub struct Statistics {
    /// A release, or several of one mechanism as one table: the exports of several collectors
    #[arg(value_name = "RELEASE", required = true, value_hint = ValueHint::AnyPath)]
    releases: Vec<PathBuf>,
    /// An earlier release with the same --seed: tell the difference instead
    #[arg(long, value_name = "RELEASE", value_hint = ValueHint::AnyPath)]
    since: Option<PathBuf>,
    /// What intervals are for: the population that the rows are a sample of, or these rows
    #[arg(long, value_name = "T", value_enum, default_value_t = Target::Population)]
    target: Target,
    /// Widen the intervals of each kind until all hold at once
    #[arg(long)]
    simultaneous: bool,
    /// Say how far this many false rows can have moved each figure
    #[arg(long, value_name = "M")]
    false_reports: Option<u64>,
    /// Tell these attributes, such as 0,5,7
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "largest")]
    attributes: Option<Vec<usize>>,
    /// Tell this many of the largest attributes, where not all are told
    #[arg(long, value_name = "N", default_value_t = statistics::LARGEST)]
    largest: usize,
    /// Public points: count rows by the nearest
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    centroids: Option<PathBuf>,
    /// Only these figures leave a trusted collector, and each person has one row: state the amplified epsilon
    #[arg(long, requires = "delta")]
    shuffled: bool,
    /// The delta of --shuffled
    #[arg(long, value_name = "D", requires = "shuffled")]
    delta: Option<f64>,
    /// Figures of each kind to print; --json and --out have all
    #[arg(long, value_name = "N", default_value_t = 8)]
    show: usize,
    /// Write a page with plots; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    beside: BesideOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    Population,
    Rows,
}

impl From<Target> for statistics::Target {
    fn from(target: Target) -> Self {
        match target {
            Target::Population => Self::Population,
            Target::Rows => Self::Rows,
        }
    }
}

impl Statistics {
    /// Computes, prints, and writes the page.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        self.out.as_deref().map_or(Ok(()), check_new)?;
        let beside = self.beside.read()?;
        let release = self.open(&beside)?;
        let centroids = self.centroids.as_ref().map(|path| {
            let options = self.reading.read_options(Some(release.certificate().projection.p));
            let batch = read_all(path, &options)?;
            ExactQueries::project(release.mechanism(), batch.rows())
                .map_err(|error| Failure::error(format!("{}: {error}", path.display())))
        });
        let centroids = centroids.transpose()?;
        let options = Options {
            target: self.target.into(),
            simultaneous: self.simultaneous,
            false_reports: self.false_reports,
            attributes: self.attributes.clone().map_or(Attributes::Largest(self.largest), Attributes::These),
            centroids: centroids.as_ref(),
            shuffled: self.delta.filter(|_| self.shuffled),
        };
        let told = match &self.since {
            Some(since) => statistics::difference(&open_release_with(since, &beside)?, &release, &options)?,
            None => statistics::of(&release, &options)?,
        };
        if let Some(out) = &self.out {
            let page = page::page(&title(&self.releases, self.since.as_deref()), &told).render();
            write_whole(&[(out, page.as_bytes())])?;
        }
        if global.json {
            print::emit_json(&told)?;
        } else {
            print::emit(&self.text(&told))?;
        }
        if told.families().any(|(_, told)| told.family().is_some()) {
            return Ok(Exit::Done);
        }
        Err(Failure::refused(format!("{}: the release tells none of these figures", title(&self.releases, None))))
    }

    /// The release, or all of them as one table.
    fn open(&self, beside: &Beside) -> Result<Release, Failure> {
        let open = |path: &PathBuf| open_release_with(path, beside);
        let mut all = self.releases.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        match all.pop() {
            Some(only) if all.is_empty() => Ok(only),
            last => Ok(Release::together(all.into_iter().chain(last).collect())?),
        }
    }

    fn text(&self, told: &statistics::Statistics) -> String {
        let rows: Vec<String> = told.rows.iter().map(|&rows| grouped(rows)).collect();
        let mut text = format!("{}: {} rows\n", title(&self.releases, self.since.as_deref()), rows.join(" and "));
        if let Some(amplified) = &told.shuffled {
            let words = format!(
                "To anyone who sees these figures only: epsilon {} at delta {} (local epsilon {}, {} reports). {}. It holds \
                 if {}.",
                number(amplified.epsilon),
                number(amplified.delta),
                number(amplified.local_epsilon),
                grouped(amplified.reports),
                amplified.theorem,
                amplified.conditions.join("; if ")
            );
            text += &paragraph(&words);
        }
        for (name, told) in told.families() {
            text.push('\n');
            match told {
                Told::Figures(family) => text += &self.family(family),
                Told::Refused { refused } => {
                    text += &paragraph(&format!("{}: not told: {refused}", name.replace('_', " ")));
                }
            }
        }
        text
    }

    fn family(&self, family: &Family) -> String {
        let mut text = paragraph(&family.about);
        let shown = strongest(family, self.show);
        let moves = family.figures.iter().any(|figure| figure.false_reports_move.is_some());
        let mut head = vec!["at", "value", "from", "to"];
        if moves {
            head.push("false reports move it by");
        }
        let line = |figure: &&Figure| {
            let mut line = vec![place(figure)];
            line.extend([figure.value, figure.interval.0, figure.interval.1].map(number));
            line.extend(figure.false_reports_move.map(|most| match most.is_finite() {
                true => number(most),
                false => "without bound".into(),
            }));
            line
        };
        let rows: Vec<Vec<String>> = shown.iter().map(line).collect();
        text += &(print::table(&head, &rows).join("\n") + "\n");
        if shown.len() < family.figures.len() {
            text += &format!("  the {} clearest of {}; --json has all\n", shown.len(), family.figures.len());
        }
        text + &paragraph(&format!("  correction: {}", family.correction))
    }
}

/// The figures furthest from zero in their own errors, in the order of their places.
fn strongest(family: &Family, count: usize) -> Vec<&Figure> {
    let strength = |figure: &Figure| figure.value.abs() / figure.error.max(f64::MIN_POSITIVE);
    let mut figures: Vec<&Figure> = family.figures.iter().collect();
    figures.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    figures.truncate(count);
    figures.sort_by(|a, b| a.at.cmp(&b.at));
    figures
}

fn place(figure: &Figure) -> String {
    let numbers: Vec<String> = figure.at.iter().map(usize::to_string).collect();
    if numbers.is_empty() { "all".into() } else { numbers.join(",") }
}

fn paragraph(words: &str) -> String {
    fold(words, 98).join("\n") + "\n"
}

fn title(releases: &[PathBuf], since: Option<&Path>) -> String {
    let name =
        |path: &Path| path.file_name().map_or_else(|| "release".into(), |name| name.to_string_lossy().into_owned());
    let all = releases.iter().map(|path| name(path)).collect::<Vec<_>>().join(" and ");
    match since {
        Some(since) => format!("{all} less {}", name(since)),
        None => all,
    }
}
