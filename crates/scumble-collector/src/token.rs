//! Bearer tokens. A token is shown once, to the one who makes it; the store has its SHA-256.

use scumble::entropy::{self, NoEntropy};
use sha2::{Digest, Sha256};

/// SHA-256 of a token. Tokens are 256 random bits, so nothing slower is needed.
pub fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// A new token: `sct1_` and 64 hexadecimal digits. Fails if the system has no entropy.
pub fn generate() -> Result<String, NoEntropy> {
    let mut secret = [0; 32];
    entropy::fill(&mut secret)?;
    Ok(secret.iter().fold("sct1_".to_owned(), |token, byte| format!("{token}{byte:02x}")))
}

/// The hash of a token among those that are known. Takes the same time whichever it is and wherever it differs.
pub fn find<'a>(known: &'a [[u8; 32]], token: &str) -> Option<&'a [u8; 32]> {
    let asked = hash(token);
    let mut found = None;
    for candidate in known {
        let difference = candidate.iter().zip(&asked).fold(0, |all, (a, b)| all | (a ^ b));
        if std::hint::black_box(difference) == 0 {
            found = Some(candidate);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_by_their_hash() {
        let (a, b) = (generate().unwrap(), generate().unwrap());
        assert!(a != b && a.len() == 69);
        let known = [hash(&a), hash("other")];
        assert_eq!(find(&known, &a), Some(&hash(&a)));
        assert_eq!(find(&known, &b), None);
        assert_eq!(find(&known, &a[..68]), None);
        assert_eq!(find(&[], &a), None);
    }
}
