//! `scumble search`: the nearest released rows for every query.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global, InputOptions};
use crate::print::{self, number};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use scumble::decode::{self, Method};
use scumble::files::{open_release_with, read_all};
use scumble::search::{ExactQueries, Found, Hit, Metric, Queries, TOP, Table, write_hits};
use serde_json::json;
use std::path::PathBuf;

/// Find the nearest rows of a release for every query
///
/// Queries are a release made with the same --seed, or with --exact-queries your own vectors: projected, not noised,
/// which finds clearly more. Ranks bits by Hamming distance, values by cosine; ties go to the lower row. Files are read once
/// for all queries and not held in memory; their hashes are compared before anything is shown.
#[derive(Args)]
#[command(after_help = "Examples:\n  scumble search private.parquet --queries queries-private.parquet --top 10\n  \
                  scumble search private.parquet --queries mine.npy --exact-queries --out found.csv\n  \
                  scumble search monday.npy tuesday.npy teams/ --queries queries-private.npy")]
pub struct Search {
    /// The releases to search in, as one table: files that share --seed and -k, or folders of them
    #[arg(value_name = "RELEASE", required = true, value_hint = ValueHint::AnyPath)]
    releases: Vec<PathBuf>,
    /// A release, or with --exact-queries any input file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    queries: PathBuf,
    /// Rows to find for each query
    #[arg(long, value_name = "R", default_value_t = TOP)]
    top: usize,
    /// The queries are your own exact vectors; they stay on this machine
    #[arg(long)]
    exact_queries: bool,
    /// How to rank [default: hamming for released bits, cosine otherwise]
    #[arg(long, value_name = "M", value_parser = metrics())]
    metric: Option<Metric>,
    /// Write .csv, .json, .parquet or .npy instead of a table
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Remove noise first, using what the rows have in common (wiener, scale) or the range that they lie in (bounds);
    /// refused where that is known to hurt [default: none]
    #[arg(long, value_name = "M", value_parser = decodings())]
    decode: Option<Decoding>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    beside: BesideOptions,
}

/// How to remove noise, if at all.
type Decoding = Option<Method>;

fn decodings() -> impl TypedValueParser<Value = Decoding> {
    PossibleValuesParser::new(["wiener", "scale", "bounds", "none"]).map(|name| name.parse().ok())
}

fn metrics() -> impl TypedValueParser<Value = Metric> {
    PossibleValuesParser::new(Metric::ALL.map(Metric::as_str)).map(|name| name.parse().expect("a possible value"))
}

impl Search {
    fn search(&self, table: &Table, queries: Queries<'_>) -> Result<Found, Failure> {
        match (self.decode.flatten(), &self.releases[..]) {
            (None, _) => Ok(table.search(queries, self.top, self.metric)?.run()?),
            (Some(method), [path]) if table.files() == 1 => {
                let release = open_release_with(path, &self.beside.read()?)?;
                let hits = decode::search(&release, queries, self.top, self.metric, method)?;
                Ok(Found::in_release(path, &release, hits))
            }
            (Some(_), _) => Err(Failure::error("--decode needs one release, whose rows it looks at together")),
        }
    }

    /// Searches and prints or writes what was found.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let beside = self.beside.read()?;
        let table = Table::open_with(&self.releases, &beside)?;
        let found = if self.exact_queries {
            let options = self.reading.read_options(Some(table.mechanism().parameters().dim));
            let batch = read_all(&self.queries, &options)?;
            let queries = ExactQueries::project(table.mechanism(), batch.rows())
                .map_err(|error| Failure::of_file(&self.queries, error))?;
            self.search(&table, Queries::Exact(&queries))?
        } else {
            self.search(&table, Queries::Released(&open_release_with(&self.queries, &beside)?))?
        };
        let several = table.files() > 1;
        let Some(out) = &self.out else {
            return global.show(|| as_json(&found, several), || as_table(&found, several));
        };
        write_hits(out, &found.hits, self.top, found.ids.as_ref())?;
        let (out, queries, rows) = (out.to_string_lossy(), found.hits.len(), table.len());
        let text = || format!("searched {rows} rows for {queries} queries: {out}\n");
        global.show(|| json!({ "out": out, "queries": queries, "rows": rows }), text)
    }
}

fn id(found: &Found, hit: &Hit) -> String {
    found.ids.as_ref().map_or_else(|| hit.row.to_string(), |ids| ids.text(hit.row))
}

/// One line per hit; with its file and the row there if there are several.
fn as_table(found: &Found, several: bool) -> String {
    let mut rows = Vec::new();
    for (query, hits) in found.hits.iter().enumerate() {
        for (rank, hit) in hits.iter().enumerate() {
            let query = if rank == 0 { query.to_string() } else { String::new() };
            let score = number(f64::from(hit.score));
            let id = id(found, hit).escape_debug().to_string(); // somebody else's text, on a terminal
            let mut line = vec![query, (rank + 1).to_string(), hit.row.to_string(), id, score];
            if several {
                let (path, row) = found.place(hit.row);
                line.extend([path.display().to_string(), row.to_string()]);
            }
            rows.push(line);
        }
    }
    let head = ["query", "rank", "row", "id", "score", "file", "row in file"];
    print::table(&head[..if several { 7 } else { 5 }], &rows).join("\n") + "\n"
}

fn as_json(found: &Found, several: bool) -> serde_json::Value {
    let one = |hit: &Hit| {
        let mut object = json!({ "row": hit.row, "id": id(found, hit), "score": hit.score });
        if several {
            let (path, row) = found.place(hit.row);
            (object["file"], object["row_in_file"]) = (json!(path.display().to_string()), row.into());
        }
        object
    };
    json!(found.hits.iter().map(|hits| hits.iter().map(one).collect::<Vec<_>>()).collect::<Vec<_>>())
}
