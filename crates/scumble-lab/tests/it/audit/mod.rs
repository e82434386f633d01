//! The audit: finds what is planted, and nothing else.

mod faults;
mod structure;
mod timing;
mod ways;
