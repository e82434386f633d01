//! Public structure: what a public sample teaches about the kind of data, before any private row is read.
//!
//! [`learn_bins`] finds attributes that move together, for the projection kind `bins`. Everything here reads PUBLIC rows, or
//! an earlier release of other rows, and gives a public file; floats are fine. What is learned must never come from the
//! rows that will be released: [`SampleHash`] lets `release` refuse the very same table.

mod bins;
mod sample;
mod svd;

pub use bins::{BinsOptions, learn_bins, learn_bins_from_release};
pub use sample::SampleHash;
