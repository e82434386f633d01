//! `scumble release`: private rows in, a private file with its certificate out.

use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::{Global, InputOptions, MechanismOptions, OutputOptions, PublicOptions, TrustOptions};
use crate::print::{self, Paint, grouped, note, warn};
use clap::{Args, ValueHint};
use scumble::certificate::Certificate;
use scumble::files::{Aside, Job, ReadOptions, RowsPerPerson, release};
use serde_json::json;
use std::path::PathBuf;

/// Release a file of vectors under differential privacy
///
/// Reads rows in batches, clips and quantises them, projects, adds exact integer noise, and writes the result with a
/// certificate. The output appears complete or not at all.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  scumble release vectors.parquet --out private.parquet --epsilon 5 --range 0,1\n  \
                  scumble release x.npy -o x-private.npy --mechanism dp-oporp-staircase --epsilon 2 --beta 0.5 \
                  --range -1,1 -k 256"
)]
pub struct Release {
    /// Input: .npy .parquet .csv .tsv .svm .idx, .gz of all but Parquet, or a folder of Parquet files
    #[arg(value_name = "IN", value_hint = ValueHint::AnyPath)]
    input: PathBuf,
    #[command(flatten)]
    output: OutputOptions,
    /// Number of attributes. LIBSVM needs it, and it must not come from the rows; checked for other kinds
    #[arg(long, value_name = "P", help_heading = "Input")]
    dim: Option<usize>,
    #[command(flatten)]
    reading: InputOptions,
    /// Column that names the person of each row: at most --rows-per-person of each are released, and the column is not
    #[arg(long, value_name = "NAME", requires = "rows_per_person", help_heading = "Input")]
    person: Option<String>,
    /// Release at most this many rows per person; the certificate states what they cost together
    #[arg(long, value_name = "N", requires = "person", help_heading = "Input")]
    rows_per_person: Option<usize>,
    /// Failure probability at which the cost of a person's rows is stated [default: the mechanism's]
    #[arg(long, value_name = "D", requires = "person", allow_negative_numbers = true, help_heading = "Input")]
    person_delta: Option<f64>,
    #[command(flatten)]
    mechanism: MechanismOptions,
    #[command(flatten)]
    public: PublicOptions,
    #[command(flatten)]
    trust: TrustOptions,
}

impl Release {
    /// Releases.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let trust = &self.trust;
        let sign = trust.sign.as_deref().map(keys::signing_key).transpose()?;
        let sticky = trust.sticky_key.as_deref().map(keys::sticky_key).transpose()?;
        let bar = print::bar();
        let progress = |done, all| print::rows_done(&bar, done, all);
        let job = Job {
            input: self.input.clone(),
            reading: ReadOptions { person: self.person.clone(), ..self.reading.read_options(self.dim) },
            persons: self.rows_per_person.map(|rows| RowsPerPerson { rows, delta: self.person_delta }),
            out: self.output.out.clone(),
            public_sample: self.public.public_sample.as_deref(),
            sign: sign.as_ref(),
            account: trust.account()?,
            progress: Some(&progress),
            aside: Some(&aside),
        };
        let certificate = release(&job, |dim| {
            let sample = self.public.read(&self.reading, Some(dim))?;
            let releaser = self.mechanism.ask()?.releaser(dim, sticky, self.public.public(&sample))?;
            releaser.mechanism().warnings().iter().for_each(|warning| warn(warning));
            Ok::<_, Failure>(releaser)
        })?;
        bar.finish_and_clear();
        // The release stands: whatever becomes of the words about it, the run has done what was asked.
        if let Err(failure) = self.report(global, &certificate) {
            failure.report();
        }
        Ok(Exit::Done)
    }

    fn report(&self, global: &Global, certificate: &Certificate) -> Result<(), Failure> {
        let out = &self.output.out;
        if global.json {
            return print::emit_json(&json!({ "out": out.to_string_lossy(), "certificate": certificate }));
        }
        if self.mechanism.seed_is_fresh() {
            let seed = &certificate.projection.seed;
            note(&format!("the public seed is {seed}; give it as --seed to make a release that can be compared"));
        }
        let facts = certificate.in_short().text();
        print::emit(&format!("{} {}\n{facts}", Paint::stdout().strong("released"), out.display()))
    }
}

/// For the operator alone, on standard error.
fn aside(aside: Aside) {
    match aside {
        Aside::Header(header) => {
            let what = if header { "a header" } else { "a row" };
            note(&format!("the first line was read as {what}; if that is wrong, use --header"));
        }
        Aside::LeftOut(rows) => {
            note(&format!(
                "{} rows are left out (for you only: the number reveals how many rows people have)",
                grouped(rows)
            ));
        }
    }
}
