//! The collector: takes reports from devices, loses none, learns nothing more.
//!
//! A request's reports are checked against their campaign ([`collection`]), queued in a bounded queue ([`intake`]) and
//! written in groups, by one writer on SQLite and four on PostgreSQL; the answer is sent after the group is durable. A
//! [`store::Store`] keeps them, each exactly once; [`export`] turns closed periods into ordinary releases. Imports run down
//! this list: collection, report, store, intake, export, token, limits, telemetry, service, server, collector, run.
//!
//! Never stored and never logged: addresses, user agents, tokens, ids or bytes of reports, times of arrival. Nothing in
//! this crate that holds one of them has a `Debug` that prints it, and no event is recorded per request.

#![deny(missing_docs)]

pub mod collection;
pub mod collector;
pub mod export;
pub mod intake;
pub mod limits;
pub mod report;
pub mod run;
pub mod server;
pub mod service;
pub mod store;
pub mod telemetry;
pub mod token;

pub use tracing::level_filters::LevelFilter;
