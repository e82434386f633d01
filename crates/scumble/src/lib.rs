//! scumble releases vectors under differential privacy and keeps them searchable, comparable and trainable.

pub mod calibration;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod exact;
pub mod io;
pub mod mechanism;
pub mod noise;
pub mod plan;
pub mod privacy;
pub mod projection;
pub mod release;
pub mod search;
pub mod simd;
pub mod vectors;
