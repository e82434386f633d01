//! The audit: finds what is planted, and nothing else.

mod faults;
mod timing;
mod ways;
