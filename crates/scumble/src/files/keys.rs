//! Key files: made readable by their owner alone, never replaced.

use super::error::one_line;
use super::writer::sidecar;
use crate::certificate::{PublicKey, SigningKey};
use crate::error::{Fault, KeyError, Kind};
use scumble_core::entropy::NoEntropy;
use scumble_core::noise::NoiseKey;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// Neither a key nor a statement is ever replaced.
    #[error("{}: exists already, and is never replaced; choose another ‹out›", .0.display())]
    Exists(PathBuf),
    /// The operating system refused.
    #[error("{}: {message}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's words.
        message: String,
    },
    /// Something else is in the file.
    #[error("{}: {error}", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// Which kind of key it is not.
        error: KeyError,
    },
    /// No secret randomness.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

impl Fault for KeyFileError {
    fn kind(&self) -> Kind {
        match self {
            Self::Exists(_) | Self::System { .. } => Kind::File,
            Self::NoKey { error, .. } => error.kind(),
            Self::NoEntropy(error) => error.kind(),
        }
    }
}

/// Makes a key that signs: the secret at `out`, the public half beside it as `OUT.pub`. Gives that path and that half.
pub fn make_signing_key(out: &Path) -> Result<(PathBuf, PublicKey), KeyFileError> {
    let key = SigningKey::generate()?;
    let beside = sidecar(out, ".pub");
    write_new(&beside, &key.public().to_text())?;
    if let Err(error) = write_secret(out, &key.to_text()) {
        let _ = std::fs::remove_file(&beside); // a public key without its secret is of no use
        return Err(error);
    }
    Ok((beside, key.public()))
}

/// Makes a key for sticky releases.
pub fn make_sticky_key(out: &Path) -> Result<(), KeyFileError> {
    write_secret(out, &NoiseKey::generate()?.to_text())
}

/// Reads a key that signs.
pub fn read_signing_key(path: &Path) -> Result<SigningKey, KeyFileError> {
    SigningKey::from_text(&String::from_utf8_lossy(&read(path)?)).map_err(|error| no_key(path, error))
}

/// Reads the public half of one.
pub fn read_public_key(path: &Path) -> Result<PublicKey, KeyFileError> {
    PublicKey::from_text(&String::from_utf8_lossy(&read(path)?)).map_err(|error| no_key(path, error))
}

/// Reads a key for sticky releases.
pub fn read_sticky_key(path: &Path) -> Result<NoiseKey, KeyFileError> {
    NoiseKey::from_file(&read(path)?).ok_or_else(|| no_key(path, KeyError::Sticky))
}

/// True if others than its owner may read the file.
pub fn others_may_read(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Writes a new file that anyone may read.
pub fn write_new(path: &Path, text: &str) -> Result<(), KeyFileError> {
    write(path, &mut OpenOptions::new(), text)
}

fn write_secret(path: &Path, text: &str) -> Result<(), KeyFileError> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write(path, &mut options, text)
}

fn write(path: &Path, options: &mut OpenOptions, text: &str) -> Result<(), KeyFileError> {
    let mut file = options.write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
        _ => system(path, &error),
    })?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = std::fs::remove_file(path); // it is ours, and half a key would only be in the way
        system(path, &error)
    })
}

/// A key is short: anything longer is not a key, and is not read to its end.
fn read(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 12).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| system(path, &error))
}

fn system(path: &Path, error: &io::Error) -> KeyFileError {
    KeyFileError::System { path: path.to_owned(), message: one_line(&error.to_string()) }
}

fn no_key(path: &Path, error: KeyError) -> KeyFileError {
    KeyFileError::NoKey { path: path.to_owned(), error }
}
