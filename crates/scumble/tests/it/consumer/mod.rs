//! What is done with a release: certificate, estimates, symbols.

mod certificate;
mod estimates;
mod symbols;
