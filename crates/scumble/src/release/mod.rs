//! The wall: private values may exist left of it, right of it only released data.

mod encoding;

pub use encoding::Encoding;
