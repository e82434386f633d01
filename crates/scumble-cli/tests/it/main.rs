//! The command line from outside: every test runs the binary.

mod audit;
mod figures;
mod ledger;
mod malformed;
mod markers;
mod mechanisms;
mod memory;
mod signatures;
mod simd;
mod snapshots;
mod sticky;
mod support;
mod trust;
mod uses;
