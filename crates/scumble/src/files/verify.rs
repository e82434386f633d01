//! Is a file what its certificate says, and does the certificate promise no more than its numbers do? Each check is a
//! value.

use super::Format;
use super::error::{ReadError, ReadErrorKind};
use super::released::{ReleasedFile, beside_release, read_release};
use super::seal::{Seal, check_seal};
use crate::certificate::{Certificate, Layout, PublicKey, Signature};
use scumble_core::mechanism::{Beside, Mechanism};
use serde::Serialize;
use std::fs::File;
use std::path::Path;

/// What a release claims, and how every check came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// The claim in words: what is protected, what is not, and the warnings. Empty where the certificate does not hold.
    pub claim: Vec<String>,
    /// The certificate, if it holds.
    pub certificate: Option<Certificate>,
    /// Each rests on those before it.
    pub checks: Vec<Check>,
}

/// One check and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found, in words for [`worded`](scumble_core::error::worded).
    pub detail: String,
}

/// What a check has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It holds.
    Ok,
    /// There was nothing to check: nobody vouches for it.
    None,
    /// It does not hold.
    Failed,
}

impl Check {
    /// A check with its outcome.
    pub fn new(name: &'static str, outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { name, outcome, detail: detail.into() }
    }

    fn passed(name: &'static str, passed: bool, detail: impl Into<String>) -> Self {
        Self::new(name, if passed { Outcome::Ok } else { Outcome::Failed }, detail)
    }
}

impl Verification {
    /// The first check that failed.
    pub fn failed(&self) -> Option<&Check> {
        self.checks.iter().find(|check| check.outcome == Outcome::Failed)
    }

    fn broken(check: Check) -> Self {
        Self { claim: Vec::new(), certificate: None, checks: vec![check] }
    }
}

/// Checks everything: hashes, row count, columns, signature, and every number of the certificate from its parameters.
///
/// `given` are public files that are not stored beside the release; `key` must have signed it. A file that cannot be
/// opened was not checked, and is an error; one that opens but does not read has failed.
pub fn verify(path: &Path, given: &Beside, key: Option<&PublicKey>) -> Result<Verification, ReadError> {
    let file = match read_release(path) {
        Ok(file) => file,
        Err(error) if error.kind == ReadErrorKind::UnknownFormat || File::open(path).is_err() => return Err(error),
        Err(error) => return Ok(Verification::broken(Check::new("file", Outcome::Failed, error.to_string()))),
    };
    let (certificate, mechanism) = match Certificate::parse_with(&file.certificate, &beside_release(path, given)?) {
        Ok(parsed) => parsed,
        Err(error) => {
            return Ok(Verification::broken(Check::new("certificate", Outcome::Failed, error.to_string())));
        }
    };
    let claim = certificate.claim().headlines().into_iter();
    let claim = claim.chain(certificate.warnings.iter().map(|warning| format!("Warning: {warning}"))).collect();
    let mut checks = checks(&certificate, &mechanism, &file, key);
    if Format::detect(path) == Some(Format::Parquet) && !path.is_dir() {
        checks.push(frame(check_seal(path)?));
    }
    Ok(Verification { claim, certificate: Some(certificate), checks })
}

fn checks(
    certificate: &Certificate,
    mechanism: &Mechanism,
    file: &ReleasedFile,
    key: Option<&PublicKey>,
) -> Vec<Check> {
    let (content, found) = (&certificate.content, &file.hashes);
    vec![
        Check::new("certificate", Outcome::Ok, "canonical text, digest, and every number follows from its parameters"),
        Check::new("noise", Outcome::Ok, noise(certificate, mechanism)),
        rows((file.rows, file.bytes_per_row), (certificate.rows, certificate.encoding.bytes_per_row)),
        layout(&content.layout, &found.layout),
        hash("sketches", Some(&content.sketch), Some(&found.sketch)),
        hash("ids", content.ids.as_ref(), found.ids.as_ref()),
        hash("labels", content.labels.as_ref(), found.labels.as_ref()),
        signature(certificate.signature.as_ref(), key),
    ]
}

/// What reading the certificate has proved about the noise.
fn noise(certificate: &Certificate, mechanism: &Mechanism) -> String {
    let (guarantee, id) = (&certificate.guarantee, mechanism.id());
    match (guarantee.epsilon, guarantee.checked_epsilon) {
        (Some(epsilon), Some(checked)) => {
            let delta = guarantee.delta.filter(|&delta| delta > 0.0).map(|delta| format!(", delta {delta:e}"));
            // Rounded up: what is shown is never less than what was checked.
            let checked = (checked * 1e4).ceil() / 1e4;
            format!(
                "{id}: loss of the integers that ran at most {}, claimed {epsilon}{}",
                checked.min(epsilon),
                delta.unwrap_or_default()
            )
        }
        _ => format!("{id}: NOT differentially private, and the certificate says so"),
    }
}

fn rows(found: (u64, usize), stated: (u64, usize)) -> Check {
    let words = |(rows, bytes): (u64, usize)| format!("{rows} rows of {bytes} bytes");
    match found == stated {
        true => Check::new("rows", Outcome::Ok, words(found)),
        false => {
            Check::new("rows", Outcome::Failed, format!("{}, the certificate says {}", words(found), words(stated)))
        }
    }
}

fn hash(name: &'static str, stated: Option<&String>, found: Option<&String>) -> Check {
    match (stated, found) {
        (None, None) => Check::new(name, Outcome::None, "none"),
        (Some(stated), Some(found)) if stated == found => Check::new(name, Outcome::Ok, format!("sha256 {found}")),
        (Some(stated), Some(found)) => {
            Check::new(name, Outcome::Failed, format!("sha256 {found}, the certificate says {stated}"))
        }
        (Some(_), None) => Check::new(name, Outcome::Failed, "missing from the file"),
        (None, Some(_)) => Check::new(name, Outcome::Failed, "not mentioned in the certificate"),
    }
}

/// What a reader would load: every column with its type, and the number of files.
fn layout(stated: &Layout, found: &Layout) -> Check {
    let passed = stated == found;
    let detail =
        if passed { found.words() } else { format!("{}; the certificate says {}", found.words(), stated.words()) };
    Check::passed("columns", passed, detail)
}

/// Reading the certificate has already checked a signature against the key that it names; the question here is whose.
fn signature(signature: Option<&Signature>, key: Option<&PublicKey>) -> Check {
    let (outcome, detail) = match (signature, key) {
        (None, None) => (Outcome::None, "none: anyone could have written this certificate".into()),
        (None, Some(_)) => (Outcome::Failed, "not signed; it must be, with the given key".into()),
        (Some(signature), None) => {
            (Outcome::None, format!("by {}, whoever that is: give ‹key› to check", signature.public_key))
        }
        (Some(signature), Some(key)) if signature.public_key == key.to_hex() => {
            (Outcome::Ok, format!("by the given key, {}", signature.public_key))
        }
        (Some(signature), Some(key)) => {
            (Outcome::Failed, format!("signed by {}, not by {}", signature.public_key, key.to_hex()))
        }
    };
    Check::new("signature", outcome, detail)
}

/// The bytes of a Parquet file that carry no content.
fn frame(seal: Seal) -> Check {
    let detail = match seal {
        Seal::Intact => "every byte is as it was written",
        Seal::Broken => "a byte was changed, or another program wrote the file again",
        Seal::Missing => "no digest of the whole file: another program wrote it again",
    };
    Check::passed("file", seal == Seal::Intact, detail)
}
