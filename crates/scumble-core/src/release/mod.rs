//! THE WALL. Private values may exist to the left of it; to the right there is only released data.
//!
//! [`Releaser`] takes private rows and gives encoded released rows.

mod encoder;
mod encoding;
mod keyed;
mod plan;
mod releaser;
mod report;

pub use encoder::{Encoder, EncodingStatement};
pub use encoding::Encoding;
pub use keyed::{Fingerprint, KeyedNoise};
pub use plan::{Plan, Writer};
pub use releaser::{NoiseSource, ReleaseError, Releaser, Worker};
pub use report::{HEADER as REPORT_HEADER, Report};
