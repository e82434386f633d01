//! The command line from outside: every test runs the binary.

mod agree;
mod altered;
mod audit;
mod campaign;
mod figures;
mod ledger;
mod malformed;
mod markers;
mod mechanisms;
mod memory;
mod misleading;
mod neighbours;
mod persons;
mod signatures;
mod simd;
mod snapshots;
mod sticky;
mod support;
#[path = "../../../scumble/tests/it/file/tables.rs"]
mod tables;
mod trust;
mod uses;
