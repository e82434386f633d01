//! Public structure: what a public sample teaches about the kind of data, before any private row is read.
//!
//! [`learn_bins`] finds attributes that move together, for the projection kind `bins`; [`learn_components`] the main
//! directions of records, for the whole-record mechanisms; [`make_book`] takes public rows as the words of `privbook`.
//! Everything here reads PUBLIC rows, or an earlier release of other rows, and gives a public file; floats are fine. What is
//! learned must never come from the rows that will be released: each file holds the hash of its sample, and `release`
//! refuses the very same table.

mod bins;
mod book;
mod components;
mod svd;

pub use bins::{BinsOptions, Coherence, learn_bins, learn_bins_from_release};
pub use book::{BOOK_WORDS, make_book};
pub use components::{COMPONENTS, learn_components};
