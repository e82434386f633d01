//! Private input: views of dense and sparse rows, the public range, the grid, the exact quantiser.
//!
//! Everything to the right of the quantiser is an integer. `Debug` of every type here prints shapes only.

pub(crate) mod content;
mod grid;
mod rows;
mod table_hash;

pub(crate) use grid::power_of_two;
pub use grid::{Grid, Range};
pub use rows::{Layout, PrivateRow, QuantisedRow, Rows, Scalars};
pub use table_hash::TableHash;
