//! `scumble compare`: similarities of released rows, with what is known about their error.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global, InputOptions};
use crate::print::{self, number};
use clap::{Args, ValueHint};
use scumble::estimate::{
    Estimate, EstimateError, RowRef, angle, cosine, inner_product, inner_product_with_query, squared_distance,
};
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

/// What is compared, with the words for it.
type Estimator = fn(RowRef<'_>, RowRef<'_>) -> Result<Estimate, EstimateError>;
const ESTIMATORS: [(&str, &str, Estimator); 4] = [
    ("inner_product", "inner product", inner_product),
    ("squared_distance", "squared distance", squared_distance),
    ("cosine", "cosine", cosine),
    ("angle", "angle (radians)", angle),
];

impl Compare {
    /// Compares all pairs.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if let Some(queries) = &self.exact_queries {
            return self.with_exact(queries, global);
        }
        let pairs = self.pairs()?;
        let release = open_release_with(&self.file, &self.beside.read()?)?;
        let beside = self.beside.read()?;
        let other = self.other.as_ref().map(|other| open_release_with(other, &beside)).transpose()?;
        let other = other.as_ref().unwrap_or(&release);
        let mut told = Told::default();
        for (i, j) in pairs {
            let a = row(&self.file, &release, i)?;
            let b = row(self.other.as_ref().unwrap_or(&self.file), other, j)?;
            let found = ESTIMATORS.map(|(key, words, estimator)| (key, words, estimator(a, b)));
            told.add(("rows", json!([i, j])), format!("rows {i} and {j}"), found)?;
        }
        told.emit(&self.file, global)
    }

    /// Compares rows with vectors that the reader holds.
    fn with_exact(&self, path: &Path, global: &Global) -> Result<Exit, Failure> {
        let release = open_release_with(&self.file, &self.beside.read()?)?;
        let options = self.reading.read_options(Some(release.certificate().projection.p));
        let batch = read_all(path, &options)?;
        let queries = ExactQueries::project(release.mechanism(), batch.rows())
            .map_err(|error| Failure::error(format!("{}: {error}", path.display())))?;
        let asked = self.with.as_ref().map_or_else(|| (0..queries.len()).collect(), |with| with.0.clone());
        if let Some(missing) = asked.iter().find(|&&j| j >= queries.len()) {
            let count = queries.len();
            return Err(Failure::error(format!("{}: there is no query {missing}, only {count}", path.display())));
        }
        let words = match release.certificate().unit {
            Unit::Record => "inner product / length of the row",
            Unit::Attribute | Unit::L1 | Unit::L2 => "inner product",
        };
        let mut told = Told::default();
        for &i in &self.rows.0 {
            let a = row(&self.file, &release, i)?;
            for &j in &asked {
                let found = [("inner_product", words, inner_product_with_query(a, queries.row(j)))];
                told.add(("row_and_query", json!([i, j])), format!("row {i} and query {j}"), found)?;
            }
        }
        told.emit(&self.file, global)
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
    objects: Vec<Value>,
    any: bool,
    why_not: Option<String>,
}

impl Told {
    fn add<const N: usize>(
        &mut self,
        (name, pair): (&str, Value),
        title: String,
        found: [(&str, &str, Result<Estimate, EstimateError>); N],
    ) -> Result<(), Failure> {
        let mut object = Map::from_iter([(name.to_owned(), pair)]);
        self.text.push_str(&format!("{title}\n"));
        for (key, words, estimate) in found {
            match &estimate {
                // Another projection, or rows that do not exist: there is nothing to compare.
                Err(error @ (EstimateError::Projection(_) | EstimateError::Query(_))) => {
                    return Err(Failure::error(error.to_string()));
                }
                Err(error) => _ = self.why_not.get_or_insert(error.to_string()),
                Ok(_) => self.any = true,
            }
            self.text.push_str(&format!("  {words:<18}{}\n", in_words(&estimate)));
            object.insert(key.into(), as_json(&estimate));
        }
        self.objects.push(Value::Object(object));
        Ok(())
    }

    fn emit(self, file: &Path, global: &Global) -> Result<Exit, Failure> {
        if global.json {
            print::emit_json(&self.objects)?;
        } else {
            print::emit(&self.text)?;
        }
        match self.why_not {
            Some(why) if !self.any => Err(Failure::refused(format!("{}: not identifiable: {why}", file.display()))),
            _ => Ok(Exit::Done),
        }
    }
}

fn row<'a>(path: &Path, release: &'a Release, row: usize) -> Result<RowRef<'a>, Failure> {
    RowRef::new(release, row).map_err(|error| Failure::error(format!("{}: {error}", path.display())))
}

const UNDEFINED: &str = "undefined: the noise is larger than a row's length, or the estimate leaves its domain";

fn in_words(estimate: &Result<Estimate, EstimateError>) -> String {
    match estimate {
        Ok(estimate) if estimate.value.is_nan() => UNDEFINED.into(),
        Ok(Estimate { value, interval: (from, to), .. }) => {
            format!("{:<12} 95% interval {} to {}", number(*value), number(*from), number(*to))
        }
        Err(error) => format!("not identifiable: {error}"),
    }
}

fn as_json(estimate: &Result<Estimate, EstimateError>) -> Value {
    match estimate {
        Ok(estimate) if estimate.value.is_nan() => json!({ "undefined": UNDEFINED }),
        Ok(estimate) => json!(estimate),
        Err(error) => json!({ "not_identifiable": error.to_string() }),
    }
}
