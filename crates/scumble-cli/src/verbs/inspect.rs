//! `scumble inspect`: the certificate in plain words, unit of privacy first.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print::{self, Facts, Paint, grouped, number};
use crate::units::whole_record;
use clap::{Args, ValueHint};
use scumble::certificate::Certificate;
use scumble::files::read_certificate;
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
}

impl Inspect {
    /// Prints the certificate.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let text = read_certificate(&self.file)?;
        let parsed = Certificate::parse(&text);
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
    let mut privacy = Facts::default();
    privacy.add("unit", certificate.unit.sentence(certificate.beta));
    privacy.add("promise", certificate.guarantee.statement.clone());
    if let Some(person) = &certificate.person {
        privacy.add("person", person.statement.clone());
    }
    match (certificate.guarantee.epsilon, certificate.guarantee.delta) {
        (Some(epsilon), delta) => {
            let delta = delta.filter(|&delta| delta > 0.0).map(|delta| format!(", delta {delta:e}"));
            privacy.add("loss", format!("epsilon {}{}", number(epsilon), delta.unwrap_or_default()));
            privacy.add("odds", odds(epsilon));
            let width = certificate.range[1] - certificate.range[0];
            let (beta, p) = (certificate.beta, certificate.projection.p);
            privacy.add("whole record", whole_record(certificate.unit, epsilon, beta, width, p));
        }
        (None, _) => {
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
    data.add("encoding", format!("{}, {} bytes a row", certificate.encoding.name, certificate.encoding.bytes_per_row));
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

/// What epsilon does to a suspicion, as odds and as probabilities.
fn odds(epsilon: f64) -> String {
    let factor = epsilon.exp();
    let after = factor / (1.0 + factor);
    let mut text = format!(
        "whoever knows all but the protected unit can raise their odds about it by a factor of at most {}: a suspicion \
         of 50% to at most {}",
        number(factor),
        percent(after)
    );
    if epsilon > 10.0 {
        text.push_str("; a factor this large is no worst-case protection");
    }
    text
}

fn percent(share: f64) -> String {
    match share {
        share if share < 0.99 => format!("{:.0}%", 100.0 * share),
        share if share < 0.9999 => format!("{:.2}%", 100.0 * share),
        _ => "almost certainty".into(),
    }
}
