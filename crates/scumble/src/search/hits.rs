//! What a search found, as a file that other tools read.

use super::Hit;
use crate::columns::Column;
use crate::files::atomic::{Pending, publish};
use crate::files::{WriteError, npy, write_table};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How a file of hits may end.
const ENDINGS: &str = ".csv, .json, .parquet or .npy";

/// Writes hits by the path's extension, complete or not at all.
///
/// `.csv` and `.parquet`: one line per hit with `query`, `rank` (from 1), `row`, `id` (if the release has ids),
/// `score`. `.json`: one list per query of objects with `row`, `id`, `score`. `.npy`: row numbers as int64
/// `[queries, top]`, -1 where there are fewer rows than `top`.
pub fn write_hits(path: &Path, hits: &[Vec<Hit>], top: usize, ids: Option<&Column>) -> Result<(), WriteError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let write: fn(Pending, &Hits<'_>) -> io::Result<Pending> = match extension {
        "csv" => csv,
        "json" => json,
        "npy" => npy,
        "parquet" => parquet,
        _ => return Err(WriteError::Ending { path: path.to_owned(), what: "results", endings: ENDINGS }),
    };
    let top = top.min(hits.iter().map(Vec::len).max().unwrap_or(0).max(1));
    let pending = Pending::create(path)?;
    let written = write(pending, &Hits { hits, top, ids }).map_err(|error| WriteError::io(path, &error))?;
    publish(vec![written])
}

struct Hits<'a> {
    hits: &'a [Vec<Hit>],
    top: usize,
    ids: Option<&'a Column>,
}

impl<'a> Hits<'a> {
    /// (query, rank, hit) of every hit.
    fn lines(&self) -> impl Iterator<Item = (usize, usize, &'a Hit)> {
        let ranked = |(query, hits): (usize, &'a Vec<Hit>)| (1..).zip(hits).map(move |(rank, hit)| (query, rank, hit));
        self.hits.iter().enumerate().flat_map(ranked)
    }
}

fn csv(file: Pending, found: &Hits<'_>) -> io::Result<Pending> {
    let mut writer = csv::Writer::from_writer(file);
    let head = ["query", "rank", "row", "id", "score"];
    writer.write_record(head.iter().filter(|name| **name != "id" || found.ids.is_some()))?;
    for (query, rank, hit) in found.lines() {
        let mut cells = vec![query.to_string(), rank.to_string(), hit.row.to_string()];
        cells.extend(found.ids.map(|ids| ids.text(hit.row)));
        cells.push(hit.score.to_string());
        writer.write_record(&cells)?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

fn json(file: Pending, found: &Hits<'_>) -> io::Result<Pending> {
    let object = |hit: &Hit| match found.ids {
        Some(Column::Int(ids)) => json!({ "row": hit.row, "id": ids[hit.row], "score": hit.score }),
        Some(ids) => json!({ "row": hit.row, "id": ids.text(hit.row), "score": hit.score }),
        None => json!({ "row": hit.row, "score": hit.score }),
    };
    let all: Vec<Vec<_>> = found.hits.iter().map(|hits| hits.iter().map(object).collect()).collect();
    let mut writer = BufWriter::new(file);
    serde_json::to_writer(&mut writer, &all)?;
    writer.write_all(b"\n")?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

fn npy(file: Pending, found: &Hits<'_>) -> io::Result<Pending> {
    let mut writer = BufWriter::new(file);
    writer.write_all(&npy::header("<i8", &[found.hits.len() as u64, found.top as u64]))?;
    for hits in found.hits {
        let rows = hits.iter().map(|hit| hit.row as i64).chain(std::iter::repeat(-1)).take(found.top);
        rows.map(i64::to_le_bytes).try_for_each(|bytes| writer.write_all(&bytes))?;
    }
    writer.into_inner().map_err(io::IntoInnerError::into_error)
}

fn parquet(file: Pending, found: &Hits<'_>) -> io::Result<Pending> {
    let int = |value: fn(usize, usize, &Hit) -> usize| {
        Column::Int(found.lines().map(|(query, rank, hit)| value(query, rank, hit) as i64).collect())
    };
    let rows = || found.lines().map(|(_, _, hit)| hit.row);
    let ids = found.ids.map(|ids| match ids {
        Column::Int(ids) => Column::Int(rows().map(|row| ids[row]).collect()),
        ids => Column::Text(rows().map(|row| ids.text(row)).collect()),
    });
    let scores = Column::Float(found.lines().map(|(_, _, hit)| f64::from(hit.score)).collect());
    let (query, rank, row) = (int(|query, _, _| query), int(|_, rank, _| rank), int(|_, _, hit| hit.row));
    let mut columns = vec![("query", &query), ("rank", &rank), ("row", &row)];
    columns.extend(ids.as_ref().map(|ids| ("id", ids)));
    columns.push(("score", &scores));
    write_table(file, &columns, &["score"])
}
