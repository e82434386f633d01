//! `scumble verify`: is this file what its certificate says, and does the certificate promise no more than its numbers?

use crate::exit::{Exit, Failure, flag};
use crate::options::{BesideOptions, Global};
use crate::print::Paint;
use clap::{Args, ValueHint};
use scumble::campaign::{Campaign, read_campaign};
use scumble::error::worded;
use scumble::files::{Check, Outcome, Verification, read_public_key, verify};
use std::path::PathBuf;

/// Check a release: hashes, row count, signature, and the noise parameters recomputed from the claim
///
/// Needs only the file, and with --key the signer's public key, which must come from elsewhere. Recomputes every number of
/// the certificate from its parameters, checks the privacy inequality of the integers that ran in exact arithmetic, and
/// compares the data with its hashes.
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

impl Verify {
    /// Checks everything, prints every check; exit status 1 if one failed.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        let key = self.key.as_deref().map(read_public_key).transpose()?;
        let beside = self.beside.read()?;
        let mut found = verify(&self.file, &beside, key.as_ref())?;
        let campaign = self.campaign.as_ref().map(|path| read_campaign(path, &beside)).transpose()?;
        let campaign = campaign.map(|(campaign, ..)| campaign);
        let collected = found.certificate.as_ref().and_then(|it| Campaign::check_collected(campaign.as_ref(), it));
        found.checks.extend(collected);
        found.checks.iter_mut().for_each(|check| check.detail = worded(&check.detail, flag));
        let failed = found.failed();
        let Verification { claim, checks, .. } = &found;
        let (file, passed) = (self.file.to_string_lossy(), failed.is_none());
        let all = || serde_json::json!({ "file": file, "passed": passed, "claim": claim, "checks": checks });
        let shown = global.show(all, || text(claim, checks))?;
        match failed {
            None => Ok(shown),
            Some(check) => Err(Failure::refused(format!(
                "{}: verification failed at '{}': {}; do not use it, get the file again from its source",
                self.file.display(),
                check.name,
                check.detail
            ))),
        }
    }
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
