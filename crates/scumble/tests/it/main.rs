//! Integration tests: one binary, so that linking stays cheap.

mod oracle;
mod projection;
mod projection_laws;
