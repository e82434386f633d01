//! What several tests need: repeatable data and the way to the shared data sets.

use scumble::mechanism::Mechanism;
use scumble::release::{Encoding, Release, Releaser};
use scumble::vectors::Rows;
use scumble_core::noise::NoiseKey;
use std::path::PathBuf;

/// A file of ../shared/data, or `None` with a loud line when it is not there.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("LEFT OUT: {name} is not in ../shared/data");
    None
}

/// Releases rows with noise that is the same in every run, so that a test of utility cannot fail by bad luck.
pub fn released(mechanism: &Mechanism, encoding: Option<Encoding>, key: u8, rows: Rows<'_>) -> Release {
    let releaser = Releaser::new(mechanism.clone(), encoding).unwrap().keyed(NoiseKey::from_bytes([key; 32]));
    Release::from_rows(&releaser, rows).unwrap()
}
