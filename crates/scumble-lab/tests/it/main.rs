//! All integration tests of the lab in one binary; one folder per kind of test.

mod audit;
mod data;
mod house;
mod support;
