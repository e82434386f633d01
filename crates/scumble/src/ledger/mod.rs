//! What was spent: how losses add up, and the file that keeps count.

mod account;
mod charge;
mod error;
#[allow(clippy::module_inception)] // the file itself, beside what it adds up
mod ledger;
mod names;
mod statement;
mod words;

pub use crate::accounting::{Budget, Gaussian, Loss, Neighbours};
pub use account::{Account, Entry};
pub use charge::Charge;
pub use error::{LedgerError, OverBudget, StatementError, StorageError};
pub use ledger::{Ledger, Reservation};
pub use statement::{STATEMENT_SCHEMA, Statement};
