//! `scumble search`: the nearest released rows for every query.

use crate::exit::{Exit, Failure};
use crate::options::{Global, InputOptions};
use crate::print::{self, number};
use clap::{Args, ValueEnum, ValueHint};
use scumble::decode::{self, Method};
use scumble::files::{open_release, read_all};
use scumble::release::Release;
use scumble::search::{ExactQueries, Hit, Metric, Queries, search, write_hits};
use serde_json::json;
use std::path::PathBuf;

/// Find the nearest rows of a release for every query
///
/// Queries are a release made with the same --seed, or with --exact-queries your own vectors: projected, not noised,
/// which finds clearly more. Ranks bits by Hamming distance, values by cosine; ties go to the lower row.
#[derive(Args)]
#[command(after_help = "Examples:\n  scumble search private.parquet --queries queries-private.parquet --top 10\n  \
                  scumble search private.parquet --queries mine.npy --exact-queries --out found.csv")]
pub struct Search {
    /// The release to search in
    #[arg(value_name = "RELEASE", value_hint = ValueHint::AnyPath)]
    release: PathBuf,
    /// A release, or with --exact-queries any input file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    queries: PathBuf,
    /// Rows to find for each query
    #[arg(long, value_name = "R", default_value_t = 10)]
    top: usize,
    /// The queries are your own exact vectors; they stay on this machine
    #[arg(long)]
    exact_queries: bool,
    /// How to rank [default: hamming for released bits, cosine otherwise]
    #[arg(long, value_name = "M", value_enum)]
    metric: Option<Rank>,
    /// Write .csv, .json, .parquet or .npy instead of a table
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Take noise off first, by what the rows have in common; refused where that is known to hurt [default: none]
    #[arg(long, value_name = "M", value_enum)]
    decode: Option<Decoding>,
    #[command(flatten)]
    reading: InputOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Decoding {
    Wiener,
    Scale,
    None,
}

impl Decoding {
    fn method(self) -> Option<Method> {
        match self {
            Self::Wiener => Some(Method::Wiener),
            Self::Scale => Some(Method::Scale),
            Self::None => None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Rank {
    Hamming,
    Cosine,
    InnerProduct,
}

impl From<Rank> for Metric {
    fn from(rank: Rank) -> Self {
        match rank {
            Rank::Hamming => Self::Hamming,
            Rank::Cosine => Self::Cosine,
            Rank::InnerProduct => Self::InnerProduct,
        }
    }
}

impl Search {
    fn search(
        &self,
        release: &Release,
        queries: Queries<'_>,
        metric: Option<Metric>,
    ) -> Result<Vec<Vec<Hit>>, Failure> {
        match self.decode.and_then(Decoding::method) {
            Some(method) => Ok(decode::search(release, queries, self.top, metric, method)?),
            None => Ok(search(release, queries, self.top, metric)?),
        }
    }

    /// Searches and prints or writes what was found.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let release = open_release(&self.release)?;
        let metric = self.metric.map(Metric::from);
        let found = if self.exact_queries {
            let options = self.reading.read_options(Some(release.certificate().projection.p));
            let batch = read_all(&self.queries, &options)?;
            let queries = ExactQueries::project(release.mechanism(), batch.rows())
                .map_err(|error| Failure::error(format!("{}: {error}", self.queries.display())))?;
            self.search(&release, Queries::Exact(&queries), metric)?
        } else {
            let queries = open_release(&self.queries)?;
            self.search(&release, Queries::Released(&queries), metric)?
        };
        match &self.out {
            Some(out) => {
                write_hits(out, &found, self.top, release.ids())?;
                let (queries, rows) = (found.len(), release.len());
                match global.json {
                    true => print::emit_json(&json!({ "out": out, "queries": queries, "rows": rows }))?,
                    false => print::emit(&format!("searched {rows} rows for {queries} queries: {}\n", out.display()))?,
                }
            }
            None if global.json => print::emit_json(&as_json(&release, &found))?,
            None => print::emit(&table(&release, &found))?,
        }
        Ok(Exit::Done)
    }
}

fn id(release: &Release, hit: &Hit) -> String {
    release.ids().map_or_else(|| hit.row.to_string(), |ids| ids.text(hit.row))
}

fn table(release: &Release, found: &[Vec<Hit>]) -> String {
    let mut rows = Vec::new();
    for (query, hits) in found.iter().enumerate() {
        for (rank, hit) in hits.iter().enumerate() {
            let query = if rank == 0 { query.to_string() } else { String::new() };
            let score = number(f64::from(hit.score));
            rows.push(vec![query, (rank + 1).to_string(), hit.row.to_string(), id(release, hit), score]);
        }
    }
    print::table(&["query", "rank", "row", "id", "score"], &rows).join("\n") + "\n"
}

fn as_json(release: &Release, found: &[Vec<Hit>]) -> serde_json::Value {
    let hits = |hits: &Vec<Hit>| {
        let list = hits.iter().map(|hit| json!({ "row": hit.row, "id": id(release, hit), "score": hit.score }));
        list.collect::<Vec<_>>()
    };
    json!(found.iter().map(hits).collect::<Vec<_>>())
}
