//! Utility on real data.

mod mnist;
