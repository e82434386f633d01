//! `scumble inspect`: the certificate in plain words, unit of privacy first.

use crate::exit::{Exit, Failure};
use crate::options::{BesideOptions, Global};
use crate::print::{self, Facts, Paint, grouped};
use crate::units::not_comparable;
use clap::{Args, ValueHint};
use scumble::certificate::Certificate;
use scumble::files::{beside_release, read_certificate};
use scumble::privacy::{Bound, Unit};
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
            print::emit(&words(&certificate))?;
        }
        Ok(Exit::Done)
    }
}

/// The certificate for people.
pub fn words(certificate: &Certificate) -> String {
    let paint = Paint::stdout();
    let claim = certificate.claim();
    let head: String = claim.headlines().iter().map(|line| format!("{}\n", paint.strong(line))).collect();
    let mut privacy = Facts::default();
    certificate.warnings.iter().for_each(|warning| {
        privacy.add("warning", warning.clone());
    });
    privacy.add("unit", certificate.unit.sentence(certificate.beta));
    privacy.add("promise", certificate.guarantee.statement.clone());
    if let Some(person) = &certificate.person {
        privacy.add("person", person.statement.clone());
    }
    match &claim.guarantee {
        Some(guarantee) => {
            let near = guarantee.group(1);
            privacy.add("loss", near.loss_words());
            privacy.add("neighbours", guessed(&near));
            if certificate.unit != Unit::Record {
                privacy.add("any value", claim.any_value.as_ref().map_or(UNBOUNDED.into(), guessed));
                privacy.add("whole row", claim.whole_row.as_ref().map_or(UNBOUNDED.into(), guessed));
                privacy.add("compare", not_comparable(certificate.unit));
            }
        }
        None => {
            privacy.add("loss", "none can be stated: this release is NOT differentially private");
        }
    }
    let mut data = Facts::default();
    let projection = &certificate.projection;
    data.add("rows", grouped(certificate.rows));
    data.add("mechanism", format!("{}: {}", certificate.mechanism.id, certificate.mechanism.summary));
    data.add("source", certificate.mechanism.paper.clone());
    data.add("projection", format!("{}, {} attributes to {}", projection.kind, projection.p, projection.k));
    data.add("seed", projection.seed.clone());
    data.add("range", format!("[{}, {}]", certificate.range[0], certificate.range[1]));
    data.add(
        "encoding",
        format!("{}, {} bytes per row", certificate.encoding.name, certificate.encoding.bytes_per_row),
    );
    data.add("numerics", certificate.numerics.clone());
    data.add("written by", format!("{} {}", certificate.software.name, certificate.software.version));
    data.add("signature", certificate.signature.as_ref().map_or("none".into(), |s| format!("by {}", s.public_key)));
    let list = |sentences: &[String]| {
        let lines = sentences.iter().flat_map(|sentence| {
            let folded = print::fold(sentence, 94);
            folded
                .into_iter()
                .enumerate()
                .map(|(at, line)| format!("{}{line}\n", if at == 0 { "  - " } else { "    " }))
        });
        lines.collect::<String>()
    };
    [
        head,
        paint.strong("Privacy") + "\n",
        privacy.text(),
        paint.strong("Not protected") + "\n",
        list(&certificate.not_protected),
        paint.strong("Assumptions") + "\n",
        list(&certificate.assumptions),
        paint.strong("Data") + "\n",
        data.text(),
    ]
    .concat()
}

/// Where group privacy says nothing.
const UNBOUNDED: &str = "no bound can be stated";

/// How often an even guess between two rows this far apart can be right.
fn guessed(bound: &Bound) -> String {
    format!(
        "whoever weighs two that are equally likely to them is right {} ({})",
        bound.guess_words(),
        bound.loss_words()
    )
}
