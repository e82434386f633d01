//! `scumble keygen`: keys for signatures and for sticky releases.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use clap::{Args, ValueHint};
use scumble::files::{make_signing_key, make_sticky_key};
use serde_json::json;
use std::path::PathBuf;

/// Make a key that signs certificates, or one for sticky releases
///
/// Writes the secret key, readable by you alone, and beside it the public key, KEY.pub, for those who verify. A sticky key
/// has no public part: anyone who has it can remove the noise.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble keygen --out release.key\n  scumble release x.npy --out y.parquet --sign \
                        release.key ...\n  scumble verify y.parquet --key release.key.pub")]
pub struct Keygen {
    /// File for the secret key; an existing file is never replaced
    #[arg(short, long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Make a key for release --sticky-key instead
    #[arg(long)]
    sticky: bool,
}

impl Keygen {
    /// Makes the key.
    pub fn run(&self, global: &Global) -> Result<Exit, Failure> {
        if self.sticky {
            return self.sticky(global);
        }
        let (beside, public) = make_signing_key(&self.out)?;
        let (out, beside, public) = (self.out.to_string_lossy(), beside.to_string_lossy(), public.to_hex());
        let text = || {
            format!(
                "secret key  {out} (keep it secret: anyone who has it can sign as you)\npublic key  {beside} ({public})\n"
            )
        };
        global.show(|| json!({ "secret": out, "public": beside, "public_key": public }), text)
    }

    fn sticky(&self, global: &Global) -> Result<Exit, Failure> {
        make_sticky_key(&self.out)?;
        let out = self.out.to_string_lossy();
        let text = || format!("sticky key  {out} (keep it secret: anyone who has it can remove the noise)\n");
        global.show(|| json!({ "secret": out }), text)
    }
}
