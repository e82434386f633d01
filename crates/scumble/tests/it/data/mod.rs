//! Utility on real data.

mod bins;
mod mnist;
