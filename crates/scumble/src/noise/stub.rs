#![allow(missing_docs, unused_variables, clippy::all)]
use super::SecretRng;
use crate::error::ParameterError;
use crate::exact::WorstRatio;
use num_rational::BigRational;
use serde_json::Value;
#[derive(Debug, Clone)]
pub struct Laplace;
#[derive(Debug, Clone)]
pub struct Staircase;
#[derive(Debug, Clone)]
pub struct RoundedGaussian;
#[derive(Debug, Clone)]
pub struct FlipTable;
#[derive(Debug, Clone)]
pub enum Noise {
    Laplace(Laplace),
    Staircase(Staircase),
    Gaussian(RoundedGaussian),
}
impl Laplace {
    pub fn new(s: u64, e: &BigRational) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn worst_ratio(&self) -> WorstRatio {
        panic!()
    }
    pub fn ratio(&self) -> u64 {
        0
    }
}
impl Staircase {
    pub fn least_variance(s: u64, e: &BigRational) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn worst_ratio(&self) -> WorstRatio {
        panic!()
    }
    pub fn ratio(&self) -> u64 {
        0
    }
    pub fn sensitivity(&self) -> u64 {
        0
    }
    pub fn width(&self) -> u64 {
        0
    }
}
impl RoundedGaussian {
    pub fn new(s: &BigRational, b: u32) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn distance(&self) -> BigRational {
        panic!()
    }
    pub fn sigma(&self) -> &BigRational {
        panic!()
    }
}
impl Noise {
    pub fn add_to(&self, x: &mut [i64], rng: &mut SecretRng) {}
    pub fn parameters(&self) -> Value {
        panic!()
    }
}
impl FlipTable {
    pub fn randomized_response(e: &BigRational) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn smooth(e: &BigRational) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn ceil_rule(e: &BigRational) -> Result<Self, ParameterError> {
        panic!()
    }
    pub fn worst_ratio(&self) -> WorstRatio {
        panic!()
    }
    pub fn flip(&self, l: u64, r: &mut SecretRng) -> bool {
        panic!()
    }
    pub fn parameters(&self) -> Value {
        panic!()
    }
    pub fn threshold(&self, l: u64) -> u64 {
        0
    }
}
