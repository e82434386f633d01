//! Utility on real data.

mod few_symbols; // first in the alphabet: its longest test should not be left alone at the end
mod plan;
mod public;
mod record;
mod structure;
