//! Secret randomness and exact integer samplers. No floating point anywhere in this module.

mod choice;
mod rng;
mod stub; // names and signatures that the mechanisms call; each is replaced by its sampler's own file
mod wide;

pub use choice::Choice;
pub use rng::{NoEntropy, NoiseKey, SecretRng};
pub use stub::{FlipTable, Laplace, Noise, RoundedGaussian, Staircase};
