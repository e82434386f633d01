//! `scumble verify`: is this file what its certificate says, and does the certificate promise no more than its numbers?

use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::{BesideOptions, Global};
use crate::print::{self, Paint, grouped, number};
use clap::{Args, ValueHint};
use scumble::campaign::Campaign;
use scumble::certificate::{Certificate, Layout, PublicKey, Signature};
use scumble::files::{Format, ReadErrorKind, ReleasedFile, Seal, beside_release, check_seal, read_release};
use scumble::mechanism::Beside;
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Check a release: hashes, row count, signature, and the noise derived again from the claim
///
/// Needs nothing but the file; with --key also the signer's public key, which must come from elsewhere. Derives every number of the certificate again from its parameters, checks the privacy
/// inequality of the integers that ran in exact arithmetic, and compares the data with its hashes.
#[derive(Args)]
#[command(after_help = "Example: scumble verify private.parquet --key release.key.pub")]
pub struct Verify {
    /// A release: .parquet, .npy with its certificate beside it, or a folder of Parquet files
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    file: PathBuf,
    /// The signer's public key (scumble keygen): the release must be signed with it
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
    #[command(flatten)]
    beside: BesideOptions,
    /// The campaign for which devices must have made the rows
    #[arg(long, value_name = "CAMPAIGN", value_hint = ValueHint::FilePath)]
    campaign: Option<PathBuf>,
}

/// One check and how it came out.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    outcome: Outcome,
    detail: String,
}

/// What a check has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// It holds.
    Ok,
    /// There was nothing to check: nobody vouches for it.
    None,
    /// It does not hold.
    Failed,
}

impl Outcome {
    fn passed(passed: bool) -> Self {
        if passed { Self::Ok } else { Self::Failed }
    }
}

impl Verify {
    /// Checks everything, prints every check; exit status 1 if one failed.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let key = self.key.as_deref().map(keys::public_key).transpose()?;
        let (head, checks) = match read_release(&self.file) {
            Ok(file) => {
                let beside = beside_release(&self.file, &self.beside.read()?)?;
                checks(&self.file, &file, key, &beside, self.campaign()?.as_ref())?
            }
            // A file that cannot be opened was not checked; one that opens and does not read has failed.
            Err(error) if error.kind == ReadErrorKind::UnknownFormat || File::open(&self.file).is_err() => {
                return Err(error.into());
            }
            Err(error) => {
                let check = Check { name: "file", outcome: Outcome::Failed, detail: error.to_string() };
                (Vec::new(), vec![check])
            }
        };
        let failed = checks.iter().find(|check| check.outcome == Outcome::Failed);
        if global.json {
            let passed = failed.is_none();
            let all = serde_json::json!({ "file": self.file, "passed": passed, "claim": head, "checks": checks });
            print::emit_json(&all)?;
        } else {
            print::emit(&text(&head, &checks))?;
        }
        match failed {
            None => Ok(Exit::Done),
            Some(check) => Err(Failure::refused(format!(
                "{}: verification failed at '{}': {}; do not use it, get the file again from its source",
                self.file.display(),
                check.name,
                check.detail
            ))),
        }
    }
}

impl Verify {
    fn campaign(&self) -> Result<Option<Campaign>, Failure> {
        let Some(path) = &self.campaign else { return Ok(None) };
        let fault = |error: &dyn std::fmt::Display| Failure::error(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
        Ok(Some(Campaign::parse(&text).map_err(|error| fault(&error))?.0))
    }
}

/// A release says for which campaign it was collected; a campaign that is given must be that one.
fn collected(certificate: &Certificate, campaign: Option<&Campaign>) -> Option<Check> {
    let named = certificate.campaign.as_deref();
    let (outcome, detail) = match (campaign.map(|campaign| campaign.check_release(certificate)), named) {
        (None, None) => return None,
        (None, Some(named)) => (Outcome::Ok, format!("{named}, noise drawn on each device: give --campaign to check")),
        (Some(Ok(())), _) => {
            (Outcome::Ok, format!("{}, as given; noise drawn on each device", named.unwrap_or_default()))
        }
        (Some(Err(error)), _) => (Outcome::Failed, error.to_string()),
    };
    Some(Check { name: "campaign", outcome, detail })
}

/// The claim, what it leaves unprotected, then the checks.
fn text(head: &[String], checks: &[Check]) -> String {
    let paint = Paint::stdout();
    let mut text: String = head.iter().map(|line| format!("{line}\n")).collect();
    for Check { name, outcome, detail } in checks {
        let mark = match outcome {
            Outcome::Ok => paint.good("ok    "),
            Outcome::None => paint.faint("--    "),
            Outcome::Failed => paint.bad("FAILED"),
        };
        text.push_str(&format!("{mark} {name:<12} {detail}\n"));
    }
    text
}

/// What the release claims, and every check in the order in which each rests on those before it.
fn checks(
    path: &Path,
    file: &ReleasedFile,
    key: Option<PublicKey>,
    beside: &Beside,
    campaign: Option<&Campaign>,
) -> Result<(Vec<String>, Vec<Check>), Failure> {
    let (certificate, mechanism) = match Certificate::parse_with(&file.certificate, beside) {
        Ok(parsed) => parsed,
        Err(error) => {
            let check = Check { name: "certificate", outcome: Outcome::Failed, detail: error.to_string() };
            return Ok((Vec::new(), vec![check]));
        }
    };
    let head = certificate.claim().headlines().into_iter();
    let head = head.chain(certificate.warnings.iter().map(|warning| format!("Warning: {warning}"))).collect();
    let guarantee = &certificate.guarantee;
    let noise = match (guarantee.epsilon, guarantee.checked_epsilon) {
        (Some(epsilon), Some(checked)) => format!(
            "{}: loss of the integers that ran at most {}, claimed {}{}",
            mechanism.id(),
            number(checked),
            number(epsilon),
            guarantee.delta.filter(|&delta| delta > 0.0).map(|delta| format!(", delta {delta:e}")).unwrap_or_default()
        ),
        _ => format!("{}: NOT differentially private, and the certificate says so", mechanism.id()),
    };
    let width = certificate.encoding.bytes_per_row;
    let rows = file.rows == certificate.rows && file.bytes_per_row == width;
    let hash = |name, stated: Option<&String>, found: Option<&String>| Check {
        name,
        outcome: if stated.or(found).is_none() { Outcome::None } else { Outcome::passed(stated == found) },
        detail: match (stated, found) {
            (None, None) => "none".into(),
            (Some(stated), Some(found)) if stated == found => format!("sha256 {found}"),
            (Some(stated), Some(found)) => format!("sha256 {found}, the certificate says {stated}"),
            (Some(_), None) => "missing from the file".into(),
            (None, Some(_)) => "not mentioned in the certificate".into(),
        },
    };
    let content = &certificate.content;
    let mut checks = vec![
        Check {
            name: "certificate",
            outcome: Outcome::Ok,
            detail: "canonical text, digest, and every number follows from its parameters".into(),
        },
        Check { name: "noise", outcome: Outcome::Ok, detail: noise },
        Check {
            name: "rows",
            outcome: Outcome::passed(rows),
            detail: match rows {
                true => format!("{} of {} bytes", grouped(file.rows), width),
                false => format!(
                    "{} of {} bytes, the certificate says {} of {width}",
                    grouped(file.rows),
                    file.bytes_per_row,
                    grouped(certificate.rows)
                ),
            },
        },
        layout(&content.layout, &file.hashes.layout),
        hash("sketches", Some(&content.sketch), Some(&file.hashes.sketch)),
        hash("ids", content.ids.as_ref(), file.hashes.ids.as_ref()),
        hash("labels", content.labels.as_ref(), file.hashes.labels.as_ref()),
        signature(certificate.signature.as_ref(), key),
    ];
    checks.extend(collected(&certificate, campaign));
    if Format::detect(path) == Some(Format::Parquet) && !path.is_dir() {
        checks.push(frame(check_seal(path)?));
    }
    Ok((head, checks))
}

/// What a reader would load: every column with its type, and the number of files.
fn layout(stated: &Layout, found: &Layout) -> Check {
    let passed = stated == found;
    let detail =
        if passed { found.words() } else { format!("{}; the certificate says {}", found.words(), stated.words()) };
    Check { name: "columns", outcome: Outcome::passed(passed), detail }
}

/// Reading the certificate has already checked a signature against the key that it names; here it is asked whose.
fn signature(signature: Option<&Signature>, key: Option<PublicKey>) -> Check {
    use Outcome::{Failed, None as Nobody, Ok as Holds};
    let (outcome, detail) = match (signature, key) {
        (None, None) => (Nobody, "none: anyone could have written this certificate".into()),
        (None, Some(_)) => (Failed, "missing; the release must be signed with the given key".into()),
        (Some(signature), None) => {
            (Nobody, format!("by {}, whoever that is: give --key to check", signature.public_key))
        }
        (Some(signature), Some(key)) if signature.public_key == key.to_hex() => {
            (Holds, format!("by the given key, {}", signature.public_key))
        }
        (Some(signature), Some(key)) => (Failed, format!("by {}, not by {}", signature.public_key, key.to_hex())),
    };
    Check { name: "signature", outcome, detail }
}

/// The bytes of a Parquet file that carry no content.
fn frame(seal: Seal) -> Check {
    let detail = match seal {
        Seal::Intact => "every byte is as it was written",
        Seal::Broken => "a byte was changed, or another program wrote the file again",
        Seal::Missing => "no digest of the whole file: another program wrote it again",
    };
    Check { name: "file", outcome: Outcome::passed(seal == Seal::Intact), detail: detail.into() }
}
