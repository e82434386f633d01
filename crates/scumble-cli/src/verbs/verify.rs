//! `scumble verify`: is this file what its certificate says, and does the certificate promise no more than its numbers?

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::print::{self, Paint, grouped, number};
use clap::{Args, ValueHint};
use scumble::io::{ReadErrorKind, ReleasedFile, read_release};
use scumble::release::Certificate;
use serde::Serialize;
use std::fs::File;
use std::path::PathBuf;

/// Check a release: hashes, row count, and the noise derived again from the claim
///
/// Needs nothing but the file. Derives every number of the certificate again from its parameters, checks the privacy
/// inequality of the integers that ran in exact arithmetic, and compares the data with its hashes.
#[derive(Args)]
#[command(after_help = "Example: scumble verify private.parquet")]
pub struct Verify {
    /// A release: .parquet, .npy with its certificate beside it, or a folder of Parquet files
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    file: PathBuf,
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
        let checks = match read_release(&self.file) {
            Ok(file) => checks(&file),
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
fn checks(file: &ReleasedFile) -> Vec<Check> {
    let (certificate, mechanism) = match Certificate::parse(&file.certificate) {
        Ok(parsed) => parsed,
        Err(error) => return vec![Check { name: "certificate", passed: false, detail: error.to_string() }],
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
    vec![
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
    ]
}
