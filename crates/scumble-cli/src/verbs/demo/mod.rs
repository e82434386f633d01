//! `scumble demo`: the whole story on handwritten digits, in seconds, without a network.

mod data;
mod page;
mod story;

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print;
use clap::{Args, ValueHint};
use std::path::{Path, PathBuf};

/// Show the whole story on built-in data: plan, release, search, compare, report
///
/// Releases 6,000 handwritten digits of MNIST with the paper's mechanism and with ours, searches and compares the
/// releases, and writes what it found to a folder.
#[derive(Args)]
#[command(after_help = "Example: scumble demo --out /tmp/scumble-demo")]
pub struct Demo {
    /// Folder for the data, the releases and the report
    #[arg(short, long, value_name = "DIR", default_value = "scumble-demo", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

/// What the demo writes; an earlier demo's files of these names are replaced.
const FILES: [&str; 5] = ["vectors.npy", "private.parquet", "paper.parquet", "blocks.parquet", "report.html"];

impl Demo {
    /// Tells the story.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        std::fs::create_dir_all(&self.out).map_err(|error| unwritable(&self.out, &error))?;
        for name in FILES {
            let path = self.out.join(name);
            if path.exists() {
                std::fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
            }
        }
        let story = story::tell(&self.out, !global.json)?;
        let report = self.out.join("report.html");
        std::fs::write(&report, page::page(&story).render()).map_err(|error| unwritable(&report, &error))?;
        match global.json {
            true => print::emit_json(&story.results)?,
            false => print::emit(&story::ending(&self.out))?,
        }
        Ok(Exit::Done)
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::error(format!("{}: {error}; choose another --out", path.display()))
}
