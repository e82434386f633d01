//! What was spent: how losses add up, and the file that keeps count.

mod charge;
mod ledger;
mod names;

pub use crate::accounting::{Budget, Gaussian, Loss, Neighbours};
pub use charge::Charge;
pub use ledger::{Account, Entry, Ledger, LedgerError, OverBudget, Reservation, STATEMENT_SCHEMA, Statement};
