//! The client that runs on a person's device: private at the source.
//!
//! It takes no campaign on trust. It checks who vouches for it, recomputes noise and loss in exact
//! arithmetic, and refuses what is above the device's own policy. A report is charged and stored before its bytes are
//! given out, and one content in one period has one report, whatever crashes in between.
//!
//! | module | holds |
//! |---|---|
//! | [`refusal`] | every way to say no: a code and a sentence |
//! | `heap` | the memory of the WASM modules |
//! | [`json`] | a small strict reader |
//! | [`signature`] | Ed25519, checked |
//! | [`campaign`] | the campaign as a device reads, checks and derives it |
//! | [`policy`] | losses as integers, and the device's own limits |
//! | [`state`] | what a device keeps: key, charges, pending reports, sealed |
//! | [`client`] | prepare, store, commit, send, settle |
//! | [`encode`] | reports by a plan that was checked elsewhere, for the encoding-only module |
//! | [`ffi`] | the same as a C ABI, and as the exports of a WASM module |

pub mod campaign;
pub mod client;
pub mod encode;
pub mod entropy;
#[cfg(feature = "ffi")]
pub mod ffi;
#[cfg(any(test, target_arch = "wasm32"))]
pub mod heap;
pub mod json;
#[cfg(any(feature = "ffi", feature = "encode"))]
pub mod memory;
pub mod policy;
pub mod refusal;
pub mod signature;
pub mod state;

pub use campaign::Trust;
pub use client::{Client, Vector};
pub use policy::Policy;
pub use refusal::Refusal;
pub use state::State;
