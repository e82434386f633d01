//! The unit of privacy (who is a neighbour of whom) and the guarantee.

mod guarantee;
mod unit;

pub use guarantee::{Epsilon, Guarantee, Individual, Notion, Promise, check_delta};
pub use unit::Unit;
