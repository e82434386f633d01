//! scumble releases vectors under differential privacy and keeps them searchable, comparable and trainable.

pub mod calibration;
pub mod error;
pub mod exact;
pub mod io;
pub mod noise;
pub mod projection;
pub mod release;
pub mod vectors;
