//! Integration tests: one binary, so that linking stays cheap.

mod oracle;
