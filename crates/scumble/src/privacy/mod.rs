//! The unit of privacy, the guarantee, the certificate that travels with a release, and accounting.

mod guarantee;
mod unit;

pub use guarantee::{Epsilon, Guarantee, Individual, Notion, Promise, check_delta};
pub use unit::Unit;
