//! The claim that travels with the data: certificate, signature, statement, content hashes.

#[allow(clippy::module_inception)] // the certificate itself, beside what it is made of
mod certificate;
mod content;
mod layout;
mod person;
mod signature;
mod statement;
mod words;

pub(crate) use certificate::hex;
pub use certificate::{
    Certificate, Content, GuaranteeStatement, MechanismStatement, ProjectionStatement, SCHEMA, Software,
};
pub use content::{ContentHasher, ContentHashes};
pub use layout::{ColumnLayout, Layout};
pub use person::PersonStatement;
pub use signature::{CONTEXT as SIGNATURE_CONTEXT, PublicKey, Signature, SigningKey};
