//! Secret randomness and exact integer samplers. No floating point anywhere in this module.

mod rng;

pub use rng::{NoEntropy, NoiseKey, SecretRng};
mod stub;
pub use stub::*;
