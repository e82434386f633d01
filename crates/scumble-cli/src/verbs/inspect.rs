//! `scumble inspect`: the certificate in plain words, unit of privacy first.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global};
use crate::print::{self, Paint};
use clap::{Args, ValueHint};
use scumble::certificate::Certificate;
use scumble::files::{beside_release, read_certificate};
use std::path::PathBuf;

/// Show the certificate of a release in plain words
///
/// Says who is protected from what, first of all the unit of privacy. Reads no data: `scumble verify` checks that data
/// and certificate belong together. With --json it prints the certificate itself.
#[derive(Args)]
#[command(
    after_help = "Example: scumble inspect private.parquet\n         scumble inspect private.parquet --statement > \
                        PRIVACY.md"
)]
pub struct Inspect {
    /// A release: .parquet, .npy with its certificate beside it, or a folder of Parquet files
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    file: PathBuf,
    /// Write the privacy statement instead: Markdown that a legal reader can quote
    #[arg(long, conflicts_with = "json")]
    statement: bool,
    #[command(flatten)]
    beside: BesideOptions,
}

impl Inspect {
    /// Prints the certificate.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let text = read_certificate(&self.file)?;
        let beside = beside_release(&self.file, &self.beside.read()?)?;
        let parsed = Certificate::parse_with(&text, &beside);
        let (certificate, _) = parsed.map_err(|error| Failure::refused(format!("{}: {error}", self.file.display())))?;
        if global.json {
            print::emit(&text)?;
        } else if self.statement {
            print::emit(&certificate.statement())?;
        } else {
            print::emit(&certificate.in_words(|line| Paint::stdout().strong(line)))?;
        }
        Ok(Exit::Done)
    }
}
