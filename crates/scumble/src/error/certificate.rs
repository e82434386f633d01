//! What is wrong with a certificate, a key or the parts of a release.

use thiserror::Error;

/// A certificate, or two that do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum CertificateError {
    #[error("the release is signed by {signer}, not by {key}")]
    OtherSigner { signer: String, key: String },
    #[error("the release is not signed; it must be, with the given key")]
    NotSigned,
    #[error("not a scumble certificate: {fault}")]
    Text { fault: String },
    #[error("the certificate's text is not in its canonical form: it was altered")]
    NotCanonical,
    #[error("the certificate is inconsistent: schema is '{found}', but this version reads '{known}'")]
    Schema { found: String, known: &'static str },
    #[error("the certificate is inconsistent: its digest is not that of its text")]
    Digest,
    #[error("the certificate's signature does not hold")]
    Signature,
    #[error("the certificate is inconsistent: the columns of its layout are not those of its encoding and hashes")]
    Layout,
    #[error("the certificate is inconsistent: a hash in 'content' or 'campaign' is not a SHA-256")]
    Hash,
    #[error("the certificate is inconsistent: 'software' is not a name and a version of this program")]
    Software,
    #[error("the certificate is inconsistent: '{field}' is not what its parameters give")]
    Field { field: String },
    #[error(
        "the two releases have projections of another {difference}: their rows cannot be compared; release both with the \
         same ‹seed›, ‹projection›, ‹bins› and ‹k›"
    )]
    OtherProjection { difference: &'static str },
}

/// A key file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum KeyError {
    #[error("not a signing key; ‹keygen()› makes one")]
    Signing,
    #[error("not a public key; give the .pub file that ‹keygen()› made")]
    Public,
    #[error("not a sticky key; make one with ‹keygen()› ‹sticky›")]
    Sticky,
}

/// The parts of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum PartsError {
    #[error("there is no release")]
    Nothing,
    #[error("the releases differ in mechanism, noise or encoding: their rows have no common law")]
    OtherLaw,
    #[error("the releases are not of one campaign, or count persons differently: they cannot be taken together")]
    OtherCampaign,
    #[error("release {again} has the sketches of release {first}, counted from 0: its rows would count twice")]
    Twice { first: usize, again: usize },
    #[error("the release does not have the rows that its certificate states")]
    Rows,
    #[error("the data are not those that the certificate was made for")]
    Content,
}
