//! Secret randomness and exact integer samplers. No floating point anywhere in this module.
//!
//! Each law is fixed by integers, realised exactly (a draw that ties with a stored threshold is extended by fresh words
//! until it is decided), and rounded toward more noise. Each can show its own inequality in exact arithmetic:
//! [`Noise::check`] for the pure laws, [`FlipTable::check`] for sign bits, [`RoundedGaussian::distance`] for delta.

mod any;
mod block;
mod choice;
mod cipher;
mod coin;
mod gaussian;
mod geometric;
pub(crate) mod kernels;
mod keyed;
mod laplace;
mod rng;
mod source;
mod staircase;
mod symbols;
mod symmetric;
mod wide;
mod words;

pub use any::Noise;
pub use block::{BlockFlips, BlockSymbols};
pub use choice::Choice;
pub use coin::{Coin, FlipTable};
pub use gaussian::RoundedGaussian;
pub(crate) use keyed::{Keyed, KeyedStreams};
pub use laplace::Laplace;
pub use rng::{NoiseKey, SecretRng};
pub use source::{LaneSource, Source};
pub use staircase::Staircase;
pub(crate) use symbols::response_weights;
pub use symbols::{MOST_SYMBOLS, SymbolTable, staircase_weights};
pub use symmetric::BlockNoise;
