//! Utility on a user's own data: retrieval, classification, the page that shows them. Sees both sides of the wall,
//! so nothing it prints is private: run it where the data may be seen.

mod features;
mod random;
pub mod retrieval;
pub mod svm;

pub use features::Features;
