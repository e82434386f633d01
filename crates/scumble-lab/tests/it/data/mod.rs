//! Utility on real data.

mod plan;
mod record;
mod symbols;
