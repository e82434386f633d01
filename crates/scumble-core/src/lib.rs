//! The core of scumble: a private row in, released bytes out.
//!
//! No files, no JSON, no SQL, no threads needed. Entropy enters at one place: [`entropy`]. Builds for
//! `wasm32-unknown-unknown` without default features.
//!
//! Modules, in the order of their imports. A module uses those above it and never one below; a test reads the `use`
//! lines and enforces this.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | what can go wrong: typed, with public numbers only |
//! | [`entropy`] | the one place where entropy enters |
//! | `chacha` | ChaCha20, readable from any word |
//! | [`facts`] | public facts as a tree: what certificates print and digests cover |
//! | [`parallel`] | loops over chunks, on all cores with the feature of that name |
//! | [`simd`] | instruction sets, registers, transpositions: what kernels of several modules share |
//! | [`vectors`] | private input: dense and sparse rows, the public range, the grid that makes them integers |
//! | [`exact`] | e^x, logarithms, the normal law on big integers, rounded in a stated direction |
//! | [`projection`] | public, seeded, data-free: Gaussian, uniform, very sparse, Rademacher, OPORP |
//! | [`noise`] | secret randomness, exact integer laws, block samplers; no floating point |
//! | [`privacy`] | the unit (who is a neighbour of whom) and the guarantee |
//! | [`calibration`] | from public numbers to noise scales |
//! | [`mechanism`] | one file per algorithm: grid, projection, perturbation, promise; one runner executes them |
//! | `faults` | mistakes that tests must find, with the feature `testing` |
//! | [`release`] | **the wall**: encoder, releaser, keyed noise |

pub mod calibration;
mod chacha;
pub mod entropy;
pub mod error;
pub mod exact;
pub mod facts;
#[cfg(feature = "testing")]
pub mod faults;
pub mod mechanism;
pub mod noise;
pub mod parallel;
pub mod privacy;
pub mod projection;
pub mod release;
pub mod simd;
pub mod vectors;
