//! `scumble release`: private rows in, a private file with its certificate out.

use super::plan::choose;
use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::{Global, InputOptions, MechanismOptions, OutputOptions, TrustOptions};
use crate::pipeline::{self, Charge, Trust};
use crate::print::{self, Facts, Paint, grouped, note, number, warn};
use clap::{Args, ValueHint};
use scumble::certificate::Certificate;
use scumble::files::open;
use scumble::ledger::Ledger;
use scumble::projection::Seed;
use scumble::release::Releaser;
use serde_json::json;
use std::path::{Path, PathBuf};

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
    /// Number of attributes: for LIBSVM files that end before the last; checked for other kinds
    #[arg(long, value_name = "P", help_heading = "Input")]
    dim: Option<usize>,
    #[command(flatten)]
    reading: InputOptions,
    #[command(flatten)]
    mechanism: MechanismOptions,
    #[command(flatten)]
    trust: TrustOptions,
}

impl Release {
    /// Releases.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let (input, out) = (self.input.as_path(), self.output.out.as_path());
        check_places(input, out)?;
        let trust = &self.trust;
        let sign = trust.sign.as_deref().map(keys::signing_key).transpose()?;
        let sticky = trust.sticky_key.as_deref().map(keys::sticky_key).transpose()?;
        let source = open(input, &self.reading.read_options(self.dim))?;
        let mut request = self.mechanism.request(source.dim())?;
        if let (Some(key), true) = (&sticky, self.mechanism.seed_is_fresh()) {
            request.parameters.seed = Seed(key.public_seed()); // the same in every release with this key
        }
        let mut releaser = choose(&request)?;
        if let Some(key) = sticky {
            releaser = releaser.keyed(key);
        }
        releaser.mechanism().warnings().iter().for_each(|warning| warn(warning));
        let with_labels = self.reading.label.is_some();
        let certificate = match (&trust.ledger, &trust.dataset) {
            (Some(ledger), Some(dataset)) => {
                let (mut ledger, made) = Ledger::open_or_create(ledger)?;
                if made {
                    note("a new ledger was made");
                }
                let charge = self.charge(&mut ledger, dataset, &releaser)?;
                let trust = Trust { sign: sign.as_ref(), charge: Some(charge) };
                pipeline::release(input, source, &releaser, out, with_labels, trust)?
            }
            _ => {
                let trust = Trust { sign: sign.as_ref(), charge: None };
                pipeline::release(input, source, &releaser, out, with_labels, trust)?
            }
        };
        self.report(global, &certificate)?;
        Ok(Exit::Done)
    }

    /// Reserves what the release costs. For a sticky one that needs a look at the rows: which of them are new?
    fn charge<'a>(&self, ledger: &'a mut Ledger, dataset: &str, releaser: &Releaser) -> Result<Charge<'a>, Failure> {
        let (budget, mechanism) = (self.trust.budget()?, releaser.mechanism());
        let Some(noise) = releaser.keyed_noise() else {
            let reservation = ledger.reserve(dataset, budget, mechanism)?;
            return Ok(Charge { ledger, reservation, rows: None });
        };
        let source = open(&self.input, &self.reading.read_options(self.dim))?;
        let rows = pipeline::fingerprints(&self.input, source, releaser)?;
        let reservation = ledger.reserve_sticky(dataset, budget, mechanism, &noise.name(dataset), &rows)?;
        Ok(Charge { ledger, reservation, rows: Some(rows) })
    }

    fn report(&self, global: &Global, certificate: &Certificate) -> Result<(), Failure> {
        let out = &self.output.out;
        if global.json {
            return print::emit_json(&json!({ "out": out, "certificate": certificate }));
        }
        if self.mechanism.seed_is_fresh() {
            let seed = &certificate.projection.seed;
            note(&format!("the public seed is {seed}; give it as --seed to make a release that can be compared"));
        }
        print::emit(&summary(out, certificate))
    }
}

/// What was done, in a few lines.
fn summary(out: &Path, certificate: &Certificate) -> String {
    let paint = Paint::stdout();
    let projection = &certificate.projection;
    let mut facts = Facts::default();
    facts.add("rows", grouped(certificate.rows));
    facts.add("unit", certificate.unit.sentence(certificate.beta));
    facts.add("promise", certificate.guarantee.statement.clone());
    facts.add("mechanism", format!("{}: {}", certificate.mechanism.id, certificate.mechanism.summary));
    facts.add(
        "sketch",
        format!(
            "k = {} of {} attributes, {}, {} bytes a row",
            projection.k,
            projection.p,
            certificate.encoding.name,
            grouped(certificate.encoding.bytes_per_row as u64)
        ),
    );
    if let Some(checked) = certificate.guarantee.checked_epsilon {
        facts.add("checked", format!("the integers that ran have a loss of at most {}", number(checked)));
    }
    format!("{} {}\n{}", paint.strong("released"), out.display(), facts.text())
}

/// The output must be new, and no part of the input.
fn check_places(input: &Path, out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(from), Ok(to)) = (input.canonicalize(), folder.canonicalize()) else { return Ok(()) };
    let target = out.file_name().map_or(to.clone(), |name| to.join(name));
    let message = if target == from {
        "input and output are the same file; choose another --out"
    } else if from.is_dir() && target.starts_with(&from) {
        "the output would lie inside the input folder; choose another --out"
    } else {
        return Ok(());
    };
    Err(Failure::error(format!("{}: {message}", out.display())))
}
