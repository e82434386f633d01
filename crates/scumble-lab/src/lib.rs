//! Evaluate, reproduce, audit: the part of scumble that sees both sides of the wall.
//!
//! What it prints may show private rows: run it where the data may be seen.
//!
//! Modules, in the order of their imports:
//!
//! | module | holds |
//! |---|---|
//! | [`digits`] | a small real data set: 6,100 digits of MNIST |
//! | [`evaluate`] | recall and accuracy on a user's own data, the paper's experiments, pages and plots |
//! | [`demo`] | the whole story on those digits |
//! | [`audit`] | a measured lower bound on epsilon, and attacks |

pub mod audit;
pub mod demo;
pub mod digits;
pub mod evaluate;
