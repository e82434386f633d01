//! The command line from outside: every test runs the binary.

mod audit;
mod malformed;
mod mechanisms;
mod memory;
mod signatures;
mod snapshots;
mod support;
mod trust;
mod uses;
