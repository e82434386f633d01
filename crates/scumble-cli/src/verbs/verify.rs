//! `scumble verify`: is this file what its certificate says, and does the certificate promise no more than its numbers?

use crate::exit::{Exit, Failure};
use crate::keys;
use crate::options::Global;
use crate::print::{self, Paint, grouped, number};
use clap::{Args, ValueHint};
use scumble::certificate::{Certificate, PublicKey, Signature};
use scumble::files::{Format, ReadErrorKind, ReleasedFile, Seal, check_seal, read_release};
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
}

/// One check and how it came out.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    passed: bool,
    detail: String,
}

impl Verify {
    /// Checks everything, prints every check; exit status 1 if one failed.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let key = self.key.as_deref().map(keys::public_key).transpose()?;
        let checks = match read_release(&self.file) {
            Ok(file) => checks(&self.file, &file, key)?,
            // A file that cannot be opened was not checked; one that opens and does not read has failed.
            Err(error) if error.kind == ReadErrorKind::UnknownFormat || File::open(&self.file).is_err() => {
                return Err(error.into());
            }
            Err(error) => vec![Check { name: "file", passed: false, detail: error.to_string() }],
        };
        let failed = checks.iter().find(|check| !check.passed);
        if global.json {
            print::emit_json(&serde_json::json!({ "file": self.file, "passed": failed.is_none(), "checks": checks }))?;
        } else {
            print::emit(&text(&checks))?;
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

fn text(checks: &[Check]) -> String {
    let paint = Paint::stdout();
    let mut text = String::new();
    for Check { name, passed, detail } in checks {
        let mark = if *passed { paint.good("ok    ") } else { paint.bad("FAILED") };
        text.push_str(&format!("{mark} {name:<12} {detail}\n"));
    }
    text
}

/// Every check, in the order in which each rests on those before it.
fn checks(path: &Path, file: &ReleasedFile, key: Option<PublicKey>) -> Result<Vec<Check>, Failure> {
    let (certificate, mechanism) = match Certificate::parse(&file.certificate) {
        Ok(parsed) => parsed,
        Err(error) => return Ok(vec![Check { name: "certificate", passed: false, detail: error.to_string() }]),
    };
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
        passed: stated == found,
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
            passed: true,
            detail: "canonical text, digest, and every number follows from its parameters".into(),
        },
        Check { name: "noise", passed: true, detail: noise },
        Check {
            name: "rows",
            passed: rows,
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
        hash("sketches", Some(&content.sketch), Some(&file.hashes.sketch)),
        hash("ids", content.ids.as_ref(), file.hashes.ids.as_ref()),
        hash("labels", content.labels.as_ref(), file.hashes.labels.as_ref()),
        signature(certificate.signature.as_ref(), key),
    ];
    if Format::detect(path) == Some(Format::Parquet) && !path.is_dir() {
        checks.push(frame(check_seal(path)?));
    }
    Ok(checks)
}

/// Reading the certificate has already checked a signature against the key that it names; here it is asked whose.
fn signature(signature: Option<&Signature>, key: Option<PublicKey>) -> Check {
    let (passed, detail) = match (signature, key) {
        (None, None) => (true, "none: anyone could have written this certificate".into()),
        (None, Some(_)) => (false, "missing; the release must be signed with the given key".into()),
        (Some(signature), None) => (true, format!("by {}, whoever that is: give --key to check", signature.public_key)),
        (Some(signature), Some(key)) if signature.public_key == key.to_hex() => {
            (true, format!("by the given key, {}", signature.public_key))
        }
        (Some(signature), Some(key)) => (false, format!("by {}, not by {}", signature.public_key, key.to_hex())),
    };
    Check { name: "signature", passed, detail }
}

/// The bytes of a Parquet file that carry no content.
fn frame(seal: Seal) -> Check {
    let detail = match seal {
        Seal::Intact => "every byte is as it was written",
        Seal::Broken => "a byte was changed, or another program wrote the file again",
        Seal::Missing => "no digest of the whole file: another program wrote it again",
    };
    Check { name: "file", passed: seal == Seal::Intact, detail: detail.into() }
}
