//! One module per verb.

pub mod audit;
pub mod campaign;
#[cfg(feature = "collector")]
pub mod collect;
#[cfg(not(feature = "collector"))]
#[path = "collect_absent.rs"]
pub mod collect;
pub mod compare;
pub mod completions;
pub mod decode;
pub mod demo;
pub mod evaluate;
pub mod inspect;
pub mod keygen;
pub mod learn;
pub mod ledger;
pub mod plan;
pub mod release;
pub mod reproduce;
pub mod search;
pub mod statistics;
pub mod verify;
