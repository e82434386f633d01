//! What is done with a release: certificate, decoding, estimates, statistics, symbols.

mod certificate;
mod claims;
mod decoding;
mod estimates;
mod expected;
mod statistics;
mod symbols;
