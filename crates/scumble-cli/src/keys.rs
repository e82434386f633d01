//! Key files: made readable by their owner only, read with a warning when they are not.

use crate::exit::Failure;
use crate::print::warn;
use scumble::certificate::{PublicKey, SigningKey};
use scumble::noise::NoiseKey;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// A key that signs certificates.
pub fn signing_key(path: &Path) -> Result<SigningKey, Failure> {
    let bytes = read_secret(path)?;
    let key = SigningKey::from_text(&String::from_utf8_lossy(&bytes));
    key.map_err(|error| Failure::error(format!("{}: {error}", path.display())))
}

/// The public half of a signing key.
pub fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    let key = PublicKey::from_text(&String::from_utf8_lossy(&read(path)?));
    key.map_err(|error| Failure::error(format!("{}: {error}", path.display())))
}

/// A key for sticky releases: the line that keygen writes.
pub fn sticky_key(path: &Path) -> Result<NoiseKey, Failure> {
    NoiseKey::from_file(&read_secret(path)?).ok_or_else(|| {
        Failure::error(format!("{}: not a sticky key; make one with scumble keygen --sticky", path.display()))
    })
}

/// A new file with a secret in it.
pub fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write(path, &mut options, text)
}

/// A new file that anyone may read.
pub fn write_public(path: &Path, text: &str) -> Result<(), Failure> {
    write(path, &mut OpenOptions::new(), text)
}

fn write(path: &Path, options: &mut OpenOptions, text: &str) -> Result<(), Failure> {
    let file = options.write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::error(format!("{}: exists already; a key is never replaced, choose another --out", path.display()))
        }
        _ => Failure::error(format!("{}: {error}", path.display())),
    })
}

/// A key is short: what is longer is no key, and is not read to its end.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| Failure::error(format!("{}: {error}", path.display())))
}

fn read_secret(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
            warn(&format!("{}: others may read this secret key; chmod 600 it", path.display()));
        }
    }
    Ok(bytes)
}
