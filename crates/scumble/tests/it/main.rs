//! All integration tests in one binary, so that linking stays cheap; one folder per kind of test.

mod consumer;
mod data;
mod fault;
mod file;
mod known;
mod support;
