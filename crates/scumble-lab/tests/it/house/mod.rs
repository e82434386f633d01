//! The house itself: what may import what, which words it uses, what every match must list, how thin front ends
//! are, and whether every line of the paper's algorithms is ticked.

mod errors;
mod front_ends;
mod imports;
mod matches;
mod paper;
mod words;
