//! The command line from outside: every test runs the binary.

mod support;
