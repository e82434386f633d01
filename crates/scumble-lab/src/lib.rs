//! Evaluate, reproduce, audit: the part of scumble that sees both sides of the wall.
//!
//! What it prints may show private rows: run it where the data may be seen.

pub mod audit;
pub mod evaluate;
