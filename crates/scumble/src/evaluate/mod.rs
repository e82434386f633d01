//! Utility on a user's own data: retrieval, classification, the page that shows them. Sees both sides of the wall,
//! so nothing it prints is private: run it where the data may be seen.

pub mod charts;
pub mod claims;
mod features;
pub mod outcome;
pub mod page;
pub mod plot;
pub(crate) mod random;
pub mod report;
pub mod reproduce;
pub mod retrieval;
pub mod svm;
pub mod sweep;
pub mod theory;

pub use features::Features;
pub use outcome::{Estimate, Outcome, Outcomes};
pub use plot::{Axis, Figure, Panel, Point, Series, Stroke};
pub use report::{Cell, Page, Table};
