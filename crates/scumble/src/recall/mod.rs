//! How much of the truth a search finds: exact neighbours of rows that may be looked at, and recall against them.

mod features;
mod random;
mod retrieval;

pub use features::Features;
pub use random::Fixed;
pub use retrieval::*;
