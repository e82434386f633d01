//! The unit of privacy (who is a neighbour of whom) and the guarantee.

mod claim;
mod guarantee;
mod unit;

pub use claim::{Bound, Claim, at_least, at_most};
pub use guarantee::{Epsilon, Guarantee, Individual, Notion, Promise, check_delta};
pub use unit::Unit;
