//! `scumble reproduce`: the paper's figures and experiments on one page, ours beside them, a verdict on every claim.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print;
use clap::{Args, ValueHint};
use scumble_lab::evaluate::reproduce::{Scale, reproduce};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

/// Reproduce the paper's figures and experiments, with a verdict on each of its claims
///
/// Needs the folders mnist, cifar10-gray and spamassassin-trigram under --data.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble reproduce --data ../shared/data --out reproduction --quick")]
pub struct Reproduce {
    /// Folder with the data sets
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    data: PathBuf,
    /// Folder for the page, its figures and the measurements
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
    /// Minutes instead of an hour: fewer rows, queries and repetitions
    #[arg(long)]
    quick: bool,
    /// Repetitions, each with its own projection and noise [default: 10, quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    repetitions: Option<u16>,
    /// Queries of the retrieval experiments [default: 1000, quick 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    queries: Option<u16>,
}

impl Reproduce {
    /// Runs the verb.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let mut scale = if self.quick { Scale::quick() } else { Scale::full() };
        scale.repetitions = self.repetitions.map_or(scale.repetitions, usize::from);
        scale.queries = self.queries.map_or(scale.queries, usize::from);
        let start = Instant::now();
        let bar = print::progress("reproducing");
        let mut last = String::new();
        let mut progress = |part: &str, done: usize, of: usize| {
            // Where there is no bar, in a batch job, one line per part.
            if bar.is_hidden() && part != last {
                print::say(&format!("{:>4} s: {part}", start.elapsed().as_secs()));
                last = part.to_owned();
            }
            bar.set_message(part.to_owned());
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        };
        let found = reproduce(&self.data, &scale, &mut progress).map_err(|error| Failure::error(error.to_string()))?;
        bar.finish_and_clear();
        let page = found.write(&self.out, start.elapsed()).map_err(|error| Failure::of_file(&self.out, error))?;
        if global.json {
            let (page, figures) = (page.to_string_lossy(), found.figures.len());
            print::emit(&format!("{}\n", json!({ "page": page, "figures": figures, "claims": found.claims })))?;
        } else {
            let mut text = String::new();
            for claim in &found.claims {
                text += &format!("{:<18} {} ({})\n", claim.verdict(), claim.statement, claim.source);
            }
            text += &format!("\n{} figures, {} claims judged.\n", found.figures.len(), found.claims.len());
            text += &format!("Page: {}\n", page.display());
            print::emit(&text)?;
        }
        Ok(Exit::Done)
    }
}
