//! Secret and public keys, as the content of their files. Python reads and writes the files.

use crate::errors::{OrRaise, raise};
use pyo3::prelude::*;
use scumble::certificate::{PublicKey, SigningKey};
use scumble::noise::NoiseKey;

/// A key for sticky noise.
pub fn noise_key(py: Python<'_>, content: &[u8]) -> PyResult<NoiseKey> {
    NoiseKey::from_file(content).ok_or_else(|| {
        raise(
            py,
            "ParameterError",
            "not a key for noise: make one with keygen(..., sticky=True), or with arrow.new_key() for one job",
        )
    })
}

/// A key that signs certificates.
pub fn signing_key(py: Python<'_>, content: &[u8]) -> PyResult<SigningKey> {
    SigningKey::from_text(&String::from_utf8_lossy(content)).or_raise(py)
}

/// A public key from the content of its file.
pub fn public_key(py: Python<'_>, content: &[u8]) -> PyResult<PublicKey> {
    PublicKey::from_text(&String::from_utf8_lossy(content)).or_raise(py)
}

/// (content of the secret file, content of the public file) of a new key that signs, or of one for sticky releases.
#[pyfunction]
pub fn keygen(py: Python<'_>, sticky: bool) -> PyResult<(String, Option<String>)> {
    if sticky {
        return Ok((NoiseKey::generate().or_raise(py)?.to_text().to_string(), None));
    }
    let key = SigningKey::generate().or_raise(py)?;
    Ok((key.to_text().to_string(), Some(key.public().to_text())))
}

/// The public seed that goes with a key for sticky releases.
#[pyfunction]
pub fn sticky_seed(py: Python<'_>, key: &[u8]) -> PyResult<[u8; 32]> {
    Ok(noise_key(py, key)?.public_seed())
}
