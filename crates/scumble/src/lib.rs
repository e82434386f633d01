//! scumble releases vectors under differential privacy and keeps them searchable, comparable and trainable.

pub mod error;
pub mod noise;
pub mod projection;
pub mod vectors;
