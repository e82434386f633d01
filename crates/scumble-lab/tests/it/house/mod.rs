//! The house itself: what may import what, which words it uses, what every match must list, and how thin front ends are.

mod errors;
mod front_ends;
mod imports;
mod matches;
mod words;
