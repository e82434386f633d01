//! Who vouches for a certificate: ed25519 keys, and a signature over certificate and data.
//!
//! What is signed is [`CONTEXT`], then the certificate's digest. The digest covers the certificate's whole text except
//! itself and the signature, and with it the hash of every released column.

use super::certificate::hex;
use crate::error::{CertificateError, KeyError};
use ed25519_dalek::{Signer, VerifyingKey};
use scumble_core::entropy::{self, NoEntropy};
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// Keeps these signatures apart from those that the same key may make elsewhere.
pub const CONTEXT: &str = "scumble-signature/1\n";

const SECRET_LABEL: &str = "scumble-signing-key ed25519 ";
const PUBLIC_LABEL: &str = "scumble-public-key ed25519 ";

/// An ed25519 signature over the digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// `ed25519`.
    pub algorithm: String,
    /// 64 hexadecimal digits.
    pub public_key: String,
    /// 128 hexadecimal digits.
    pub signature: String,
}

impl Signature {
    /// Checks that the owner of the key named here has signed this digest. Only a [`PublicKey`] from elsewhere can say
    /// who that is.
    pub fn check(&self, digest: &str) -> Result<PublicKey, CertificateError> {
        let wrong = || CertificateError::Signature;
        let key = unhex(&self.public_key).ok_or_else(wrong)?;
        let signature = ed25519_dalek::Signature::from_bytes(&unhex(&self.signature).ok_or_else(wrong)?);
        let verifying = VerifyingKey::from_bytes(&key).map_err(|_| wrong())?;
        // Strict: no weak keys, no second form of the same signature.
        let holds = verifying.verify_strict(&message(digest), &signature).is_ok();
        if holds && self.algorithm == "ed25519" { Ok(PublicKey(key)) } else { Err(wrong()) }
    }
}

/// A secret key. Never printed, wiped when dropped.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// A fresh key from the operating system.
    pub fn generate() -> Result<Self, NoEntropy> {
        let mut secret = Zeroizing::new([0; 32]);
        entropy::fill(secret.as_mut())?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&secret)))
    }

    /// The one line that [`to_text`](Self::to_text) gives.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let secret = text.trim_end().strip_prefix(SECRET_LABEL).and_then(|digits| unhex(digits).map(Zeroizing::new));
        let secret = secret.ok_or(KeyError::Signing)?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&secret)))
    }

    /// The key as one line, for the owner to keep.
    pub fn to_text(&self) -> Zeroizing<String> {
        let digits = Zeroizing::new(hex(self.0.as_bytes()));
        Zeroizing::new(format!("{SECRET_LABEL}{}\n", *digits))
    }

    /// The key that others need to check signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// Signs a certificate's digest.
    pub fn sign(&self, digest: &str) -> Signature {
        Signature {
            algorithm: "ed25519".into(),
            public_key: self.public().to_hex(),
            signature: hex(&self.0.sign(&message(digest)).to_bytes()),
        }
    }
}

/// The public half of a [`SigningKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The one line that [`to_text`](Self::to_text) gives.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let key = text.trim_end().strip_prefix(PUBLIC_LABEL).and_then(unhex);
        key.map(Self).ok_or(KeyError::Public)
    }

    /// The key as one line.
    pub fn to_text(self) -> String {
        format!("{PUBLIC_LABEL}{}\n", self.to_hex())
    }

    /// 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }
}

fn message(digest: &str) -> Vec<u8> {
    [CONTEXT, digest].concat().into_bytes()
}

/// Lower-case digits only: one key and one signature have one text.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect::<Option<Vec<u8>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_print_nothing() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::from_text(&key.to_text()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(PublicKey::from_text(&key.public().to_text()), Ok(key.public()));
        assert_eq!(format!("{key:?}"), "SigningKey(..)");
        assert!(SigningKey::from_text(&key.public().to_text()).is_err());
        assert!(PublicKey::from_text(&key.to_text()).is_err());
    }

    #[test]
    fn the_signature_is_that_of_rfc_8032() {
        // Test 1 of section 7.1: the public key of this secret.
        let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let key = SigningKey::from_text(&format!("{SECRET_LABEL}{secret}")).unwrap();
        assert_eq!(key.public().to_hex(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        let signature = key.sign("digest");
        assert_eq!(signature.check("digest"), Ok(key.public()));
        assert!(signature.check("digesT").is_err());
        let shout = Signature { signature: signature.signature.to_uppercase(), ..signature.clone() };
        assert!(shout.check("digest").is_err());
    }
}
