//! Utility on real data.

mod bins;
mod decoding;
mod mnist;
