//! Noise recipes, once each.

pub(crate) mod noise_levels;
pub(crate) mod odds;
pub(crate) mod pure_noise;
