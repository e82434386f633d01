//! Utility on a user's own data: retrieval, classification, the page that shows them. Sees both sides of the wall:
//! what it prints is NOT private, and says so. Run it where the data may be seen.

pub mod charts;
pub mod claims;
pub mod menu;
pub mod outcome;
pub mod page;
mod paper_claims;
pub mod plot;
pub mod report;
pub mod reproduce;
pub mod svm;
pub mod sweep;
pub mod theory;

pub use outcome::{Average, Outcome, Outcomes};
pub use plot::{Axis, Figure, Panel, Point, Series, Stroke};
pub use report::{Cell, Page, Table};
