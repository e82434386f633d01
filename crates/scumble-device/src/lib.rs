//! The client that runs on a person's device: private at the source.
//!
//! It does not believe a campaign. It checks who vouches for it, derives the noise and the loss again in exact
//! arithmetic, and refuses what is above the device's own policy. A report is charged and stored before its bytes are
//! given out, and one content in one period has one report, whatever crashes in between.
//!
//! | module | holds |
//! |---|---|
//! | [`refusal`] | every way to say no: a code and a sentence |
//! | [`decimal`] | digits to doubles |
//! | [`json`] | a small strict reader |
//! | [`campaign`] | the campaign as a device reads, checks and derives it |
//! | [`policy`] | losses as integers, and the device's own limits |
//! | [`state`] | what a device keeps: key, charges, pending reports, sealed |
//! | [`client`] | prepare, store, commit, send, settle |
//! | [`ffi`] | the same as a C ABI, and as the exports of a WASM module |

pub mod campaign;
pub mod client;
pub mod decimal;
pub mod entropy;
#[cfg(feature = "ffi")]
pub mod ffi;
pub mod json;
pub mod policy;
pub mod refusal;
pub mod state;

pub use campaign::Trust;
pub use client::{Client, Vector};
pub use policy::Policy;
pub use refusal::Refusal;
pub use state::State;
