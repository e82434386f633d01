//! `scumble compare`: similarities of released rows, with what is known about their error.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global, InputOptions};
use clap::{Args, ValueHint};
use scumble::estimate::{Estimate, EstimateError, Quantity, RowRef, inner_product_with_query};
use scumble::files::{open_release_with, read_all};
use scumble::privacy::Unit;
use scumble::release::Release;
use scumble::search::ExactQueries;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Compare rows of a release: inner product, distance, cosine, angle, with 95% intervals
///
/// Says where a release does not tell a quantity, and why. Exit status 1 if it tells none of them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble compare private.parquet --rows 0,1\n  scumble compare a.parquet --rows 0..10 \
                  --with 3,7 --other b.parquet   (all pairs; both released with the same --seed)\n  scumble compare \
                  private.parquet --rows 0..10 --exact-queries mine.npy   (against your own vectors)"
)]
pub struct Compare {
    /// A release
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    file: PathBuf,
    /// Two rows I,J; or with --with a list such as 0,5,7 or 0..10, counted from 0
    #[arg(long, value_name = "I,J")]
    rows: RowList,
    /// A second list: all pairs with --rows are compared
    #[arg(long, value_name = "LIST")]
    with: Option<RowList>,
    /// Compare with your own exact vectors; --with picks some of them. They stay on this machine
    #[arg(long, value_name = "FILE", conflicts_with = "other", value_hint = ValueHint::AnyPath)]
    exact_queries: Option<PathBuf>,
    /// The second list's release, if it is another one
    #[arg(long, value_name = "FILE", requires = "with", value_hint = ValueHint::AnyPath)]
    other: Option<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    beside: BesideOptions,
}

/// Row numbers: `3`, `0,5,7`, `0..10`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowList(Vec<usize>);

impl FromStr for RowList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "give row numbers such as 0,5,7 or 0..10".to_owned();
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let mut rows = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((from, to)) => {
                    let (from, to) = (number(from)?, number(to)?);
                    if to <= from || to - from > 1 << 20 {
                        return Err(wrong());
                    }
                    rows.extend(from..to);
                }
                None => rows.push(number(part)?),
            }
        }
        Ok(Self(rows))
    }
}

/// What is compared, in words.
fn words(quantity: Quantity) -> String {
    match quantity {
        Quantity::Angle => "angle (radians)".into(),
        other => other.as_str().replace('_', " "),
    }
}

impl Compare {
    /// Compares all pairs.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let mut told = Told::default();
        match &self.exact_queries {
            Some(queries) => self.with_exact(queries, &mut told)?,
            None => self.with_rows(&mut told)?,
        }
        let shown = global.show(|| &told.objects, || told.text.clone())?;
        match told.why_not {
            Some(why) if !told.any => {
                Err(Failure::refused(format!("{}: not identifiable: {why}", self.file.display())))
            }
            _ => Ok(shown),
        }
    }

    /// Compares rows with rows.
    fn with_rows(&self, told: &mut Told) -> Result<(), Failure> {
        let (pairs, beside) = (self.pairs()?, self.beside.read()?);
        let release = open_release_with(&self.file, &beside)?;
        let other = self.other.as_ref().map(|other| open_release_with(other, &beside)).transpose()?;
        for (i, j) in pairs {
            let a = row(&self.file, &release, i)?;
            let b = row(self.other.as_ref().unwrap_or(&self.file), other.as_ref().unwrap_or(&release), j)?;
            told.title(("rows", json!([i, j])), format!("rows {i} and {j}"));
            for quantity in Quantity::OF_TWO {
                told.add(quantity.as_str(), &words(quantity), quantity.of(a, b))?;
            }
        }
        Ok(())
    }

    /// Compares rows with vectors that the reader holds.
    fn with_exact(&self, path: &Path, told: &mut Told) -> Result<(), Failure> {
        let release = open_release_with(&self.file, &self.beside.read()?)?;
        let options = self.reading.read_options(Some(release.certificate().projection.p));
        let batch = read_all(path, &options)?;
        let queries = ExactQueries::project(release.mechanism(), batch.rows());
        let queries = queries.map_err(|error| Failure::of_file(path, error))?;
        let (count, all) = (queries.len(), || (0..queries.len()).collect());
        let asked = self.with.as_ref().map_or_else(all, |with| with.0.clone());
        if let Some(missing) = asked.iter().find(|&&j| j >= count) {
            return Err(Failure::of_file(path, format!("there is no query {missing}, only {count}")));
        }
        let words = match release.certificate().unit {
            Unit::Record => "inner product / length of the row",
            Unit::Attribute | Unit::L1 | Unit::L2 => "inner product",
        };
        for &i in &self.rows.0 {
            let a = row(&self.file, &release, i)?;
            for &j in &asked {
                told.title(("row_and_query", json!([i, j])), format!("row {i} and query {j}"));
                told.add("inner_product", words, inner_product_with_query(a, queries.row(j)))?;
            }
        }
        Ok(())
    }

    fn pairs(&self) -> Result<Vec<(usize, usize)>, Failure> {
        match (&self.rows.0[..], &self.with) {
            (rows, Some(with)) => Ok(rows.iter().flat_map(|&i| with.0.iter().map(move |&j| (i, j))).collect()),
            (&[i, j], None) => Ok(vec![(i, j)]),
            (rows, None) => {
                let count = rows.len();
                Err(Failure::error(format!("--rows needs two rows I,J, got {count}; give a second list as --with")))
            }
        }
    }
}

/// Comparisons as text and as objects, and whether any of them could be told.
#[derive(Default)]
struct Told {
    text: String,
    objects: Vec<Map<String, Value>>,
    any: bool,
    why_not: Option<String>,
}

impl Told {
    fn title(&mut self, (name, pair): (&str, Value), title: String) {
        self.objects.push(Map::from_iter([(name.to_owned(), pair)]));
        self.text.push_str(&format!("{title}\n"));
    }

    fn add(&mut self, key: &str, words: &str, estimate: Result<Estimate, EstimateError>) -> Result<(), Failure> {
        match &estimate {
            // Another projection, or rows that do not exist: there is nothing to compare.
            Err(error @ (EstimateError::Projection(_) | EstimateError::Query(_))) => {
                return Err(Failure::error(error.to_string()));
            }
            Err(error) => _ = self.why_not.get_or_insert(error.to_string()),
            Ok(_) => self.any = true,
        }
        self.text.push_str(&format!("  {words:<18}{}\n", in_words(&estimate)));
        self.objects.last_mut().expect("a title comes first").insert(key.into(), as_json(&estimate));
        Ok(())
    }
}

fn row<'a>(path: &Path, release: &'a Release, row: usize) -> Result<RowRef<'a>, Failure> {
    RowRef::new(release, row).map_err(|error| Failure::of_file(path, error))
}

fn in_words(estimate: &Result<Estimate, EstimateError>) -> String {
    estimate.as_ref().map_or_else(|error| format!("not identifiable: {error}"), Estimate::words)
}

fn as_json(estimate: &Result<Estimate, EstimateError>) -> Value {
    match estimate {
        Ok(estimate) => estimate.why_undefined().map_or(json!(estimate), |why| json!({ "undefined": why })),
        Err(error) => json!({ "not_identifiable": error.to_string() }),
    }
}
