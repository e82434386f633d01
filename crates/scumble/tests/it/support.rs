//! What several tests need: repeatable data and the way to the shared data sets.

use scumble::mechanism::Mechanism;
use scumble::release::{Encoding, Release, Releaser};
use scumble::vectors::Rows;
use scumble_core::noise::NoiseKey;
use std::path::PathBuf;

/// A small repeatable generator for test data (splitmix64).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

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
