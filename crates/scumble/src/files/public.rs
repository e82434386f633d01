//! Public files that a mechanism rests on: bins.

use super::error::{ReadError, ReadErrorKind};
use scumble_core::projection::Partition;
use std::path::Path;

/// The bins that `--bins` names: `grid:28x28`, or a file.
pub fn read_partition(name: &Path) -> Result<Partition, ReadError> {
    let fault =
        |error: scumble_core::error::ParameterError| ReadError::new(name, ReadErrorKind::Public(error.to_string()));
    match name.to_str().filter(|text| text.starts_with("grid:")) {
        Some(grid) => grid.parse().map_err(fault),
        None => Partition::from_file(&std::fs::read(name).map_err(|e| ReadError::io(name, &e))?).map_err(fault),
    }
}
