//! `scumble compare`: similarities of released rows, with what is known about their error.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print::{self, number};
use crate::released;
use clap::{Args, ValueHint};
use scumble::estimate::{Estimate, EstimateError, RowRef, angle, cosine, inner_product, squared_distance};
use scumble::release::Release;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::str::FromStr;

/// Compare rows of a release: inner product, distance, cosine, angle, with 95% intervals
///
/// Says where a release does not tell a quantity, and why. Exit status 1 if it tells none of them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble compare private.parquet --rows 0,1\n  scumble compare a.parquet --rows 0..10 \
                  --with 3,7 --other b.parquet   (all pairs; both released with the same --seed)"
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
    /// The second list's release, if it is another one
    #[arg(long, value_name = "FILE", requires = "with", value_hint = ValueHint::AnyPath)]
    other: Option<PathBuf>,
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
        let pairs = self.pairs()?;
        let release = released::open(&self.file)?;
        let other = self.other.as_ref().map(|other| released::open(other)).transpose()?;
        let other = other.as_ref().unwrap_or(&release);
        let (mut told, mut why) = (false, None);
        let (mut objects, mut text) = (Vec::new(), String::new());
        for (i, j) in pairs {
            let a = row(&self.file, &release, i)?;
            let b = row(self.other.as_ref().unwrap_or(&self.file), other, j)?;
            let mut object = Map::new();
            object.insert("rows".into(), json!([i, j]));
            text.push_str(&format!("rows {i} and {j}\n"));
            for (key, words, estimator) in ESTIMATORS {
                let estimate = match estimator(a, b) {
                    // Another projection, or rows that do not exist: there is nothing to compare.
                    Err(EstimateError::Projection(error)) => return Err(error.into()),
                    outcome => outcome,
                };
                told |= estimate.is_ok();
                if let Err(error) = &estimate {
                    why.get_or_insert(error.to_string());
                }
                text.push_str(&format!("  {words:<18}{}\n", in_words(&estimate)));
                object.insert(key.into(), as_json(&estimate));
            }
            objects.push(Value::Object(object));
        }
        if global.json {
            print::emit_json(&objects)?;
        } else {
            print::emit(&text)?;
        }
        match why {
            Some(why) if !told => Err(Failure::refused(format!("{}: not identifiable: {why}", self.file.display()))),
            _ => Ok(Exit::Done),
        }
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

fn row<'a>(path: &std::path::Path, release: &'a Release, row: usize) -> Result<RowRef<'a>, Failure> {
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
