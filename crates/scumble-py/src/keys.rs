//! Secret and public keys, as the content of their files. Python reads and writes the files.

use crate::errors::{OrRaise, raise};
use pyo3::prelude::*;
use scumble::certificate::{Certificate, PublicKey, SigningKey};
use scumble::entropy::NoEntropy;
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

/// Is this certificate signed with the key whose public half is given?
pub fn check_signer(py: Python<'_>, certificate: &Certificate, key: &[u8]) -> PyResult<()> {
    let key = public_key(py, key)?.to_hex();
    match &certificate.signature {
        Some(signature) if signature.public_key == key => Ok(()),
        Some(signature) => {
            let message = format!("the release is signed by {}, not by {key}", signature.public_key);
            Err(raise(py, "CertificateError", message))
        }
        None => Err(raise(py, "CertificateError", "the release is not signed; it must be, with the given key")),
    }
}

/// A public key from the content of its file.
pub fn public_key(py: Python<'_>, content: &[u8]) -> PyResult<PublicKey> {
    PublicKey::from_text(&String::from_utf8_lossy(content)).or_raise(py)
}

/// (content of the secret file, content of the public file) of a new key that signs, or of one for sticky releases.
#[pyfunction]
pub fn keygen(py: Python<'_>, sticky: bool) -> PyResult<(String, Option<String>)> {
    let missing = |error: NoEntropy| raise(py, "ScumbleError", error);
    if sticky {
        return Ok((NoiseKey::generate().map_err(missing)?.to_text().to_string(), None));
    }
    let key = SigningKey::generate().map_err(missing)?;
    Ok((key.to_text().to_string(), Some(key.public().to_text())))
}

/// The public seed that goes with a key for sticky releases.
#[pyfunction]
pub fn sticky_seed(py: Python<'_>, key: &[u8]) -> PyResult<[u8; 32]> {
    Ok(noise_key(py, key)?.public_seed())
}
