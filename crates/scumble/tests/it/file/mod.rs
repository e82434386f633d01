//! Files: read, written, malformed, in bounded memory.

mod fuzz;
mod malformed;
mod memory;
mod read;
mod support;
mod write;
