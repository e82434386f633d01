//! `scumble decode`: what the whole table tells about each row.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global};
use crate::print;
use clap::{Args, ValueEnum, ValueHint};
use scumble::decode::{self, Decoder};
use scumble::files::open_release_with;
use serde_json::json;
use std::path::PathBuf;

/// Remove noise from a release, using what its rows have in common
///
/// Writes float32 rows as .npy or .parquet. Fitted on the release itself; costs no privacy. It helps with many rows of one
/// population (10 rows per coordinate and more) and is refused where it is known to hurt. Compare with `search --decode`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble decode private.parquet --out decoded.npy\n  scumble decode private.parquet \
                  --method scale --out decoded.parquet   (rows of very different length)"
)]
pub struct Decode {
    /// A release
    #[arg(value_name = "RELEASE", value_hint = ValueHint::AnyPath)]
    release: PathBuf,
    /// Where the decoded rows go: .npy or .parquet
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// How to decode
    #[arg(long, value_name = "M", value_enum, default_value_t = Method::Wiener)]
    method: Method,
    #[command(flatten)]
    beside: BesideOptions,
}

/// How rows are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// The linear estimate of least error
    Wiener,
    /// The same for rows of very different length
    Scale,
    /// Move each value to the nearest that the range allows, for any number of rows
    Bounds,
}

impl From<Method> for decode::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Wiener => Self::Wiener,
            Method::Scale => Self::Scale,
            Method::Bounds => Self::Bounds,
        }
    }
}

impl Decode {
    /// Fits, decodes and writes.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let release = open_release_with(&self.release, &self.beside.read()?)?;
        let decoder = Decoder::fit(&release, self.method.into())?;
        decode::write(&self.out, &decoder, &release)?;
        let (rows, k, rank) = (release.len(), release.k(), decoder.rank());
        let out = self.out.to_string_lossy();
        match global.json {
            true => print::emit_json(&json!({ "out": out, "rows": rows, "k": k, "rank": rank }))?,
            false => print::emit(&format!(
                "decoded {rows} rows of {k} values, of which {rank} directions hold signal: {}\n",
                self.out.display()
            ))?,
        }
        Ok(Exit::Done)
    }
}
