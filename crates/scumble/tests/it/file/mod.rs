//! Files: read, written, malformed, in bounded memory.

mod altered;
mod fuzz;
mod malformed;
mod memory;
mod parquet;
mod read;
mod sparse_range;
mod support;
mod tables;
mod write;
