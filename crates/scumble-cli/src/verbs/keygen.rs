//! `scumble keygen`: keys for signatures and for sticky releases.

use crate::exit::{Exit, Failure};
use crate::options::Global;
use crate::{keys, print};
use clap::{Args, ValueHint};
use scumble::certificate::SigningKey;
use scumble::noise::NoiseKey;
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
        let key = SigningKey::generate()?;
        let mut beside = self.out.clone().into_os_string();
        beside.push(".pub");
        let beside = PathBuf::from(beside);
        keys::write_public(&beside, &key.public().to_text())?;
        if let Err(failure) = keys::write_secret(&self.out, &key.to_text()) {
            let _ = std::fs::remove_file(&beside); // a public key without its secret is of no use
            return Err(failure);
        }
        let public = key.public().to_hex();
        if global.json {
            let [secret, beside] = [&self.out, &beside].map(|path| path.to_string_lossy());
            print::emit_json(&json!({ "secret": secret, "public": beside, "public_key": public }))?;
        } else {
            print::emit(&format!(
                "secret key  {} (keep it secret: anyone who has it can sign as you)\npublic key  {} ({public})\n",
                self.out.display(),
                beside.display()
            ))?;
        }
        Ok(Exit::Done)
    }

    fn sticky(&self, global: &Global) -> Result<Exit, Failure> {
        let key = NoiseKey::generate()?;
        keys::write_secret(&self.out, &key.to_text())?;
        if global.json {
            print::emit_json(&json!({ "secret": self.out.to_string_lossy() }))?;
        } else {
            print::emit(&format!(
                "sticky key  {} (keep it secret: anyone who has it can remove the noise)\n",
                self.out.display()
            ))?;
        }
        Ok(Exit::Done)
    }
}
