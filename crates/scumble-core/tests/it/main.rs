//! All integration tests of the core in one binary, so that linking stays cheap; one folder per kind of test.

mod exact;
mod fault;
mod known;
mod law;
