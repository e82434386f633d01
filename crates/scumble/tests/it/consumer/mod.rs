//! What is done with a release: bins, certificate, decoding, estimates, statistics, symbols.

mod bins;
mod certificate;
mod claims;
mod decoding;
mod estimates;
mod expected;
mod hard;
mod statistics;
mod symbols;
