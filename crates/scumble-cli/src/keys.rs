//! Key files, read with a warning when others may read them too.

use crate::exit::Failure;
use crate::print::warn;
use scumble::certificate::SigningKey;
use scumble::files::{KeyFileError, others_may_read, read_signing_key, read_sticky_key};
use scumble::noise::NoiseKey;
use std::path::Path;

/// A key that signs certificates.
pub fn signing_key(path: &Path) -> Result<SigningKey, Failure> {
    secret(path, read_signing_key)
}

/// A key for sticky releases.
pub fn sticky_key(path: &Path) -> Result<NoiseKey, Failure> {
    secret(path, read_sticky_key)
}

fn secret<K>(path: &Path, read: fn(&Path) -> Result<K, KeyFileError>) -> Result<K, Failure> {
    if others_may_read(path) {
        warn(&format!("{}: others may read this secret key; chmod 600 it", path.display()));
    }
    Ok(read(path)?)
}
