//! THE WALL. Private values may exist left of it; right of it there is only released data.
//!
//! [`Releaser`] takes private rows and gives encoded released rows; [`Release`] is a finished table with its
//! certificate, and the only thing that `estimate` and `search` accept.

mod certificate;
mod encoder;
mod encoding;
mod keyed;
mod releaser;
mod report;
mod signature;
mod statement;
mod table;

pub(crate) use certificate::hex;
pub use certificate::{
    Certificate, Content, GuaranteeStatement, MechanismStatement, ProjectionStatement, SCHEMA, Software,
};
pub use encoder::{Encoder, EncodingStatement};
pub use encoding::Encoding;
pub use keyed::{Fingerprint, KeyedNoise};
pub use releaser::{NoiseSource, ReleaseError, Releaser, Worker};
pub use report::{HEADER as REPORT_HEADER, Report};
pub use signature::{CONTEXT as SIGNATURE_CONTEXT, PublicKey, Signature, SigningKey};
pub use table::Release;
