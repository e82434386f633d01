//! The house itself: what may import what, which words it uses, and what every match must list.

mod errors;
mod imports;
mod matches;
mod words;
