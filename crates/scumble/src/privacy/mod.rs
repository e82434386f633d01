//! The unit of privacy, the guarantee, the certificate that travels with a release, and accounting.

mod accounting;
mod guarantee;
mod ledger;
mod unit;

pub use accounting::{Budget, Gaussian, Loss, Neighbours};
pub use guarantee::{Epsilon, Guarantee, Individual, Notion, Promise, check_delta};
pub use ledger::{Account, Entry, Ledger, LedgerError, OverBudget, Reservation, STATEMENT_SCHEMA, Statement};
pub use unit::Unit;
