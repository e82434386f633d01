//! Utility on real data.

mod plan;
mod public;
mod record;
mod structure;
mod symbols;
