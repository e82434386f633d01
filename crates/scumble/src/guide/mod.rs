//! A first page for each kind of user. Every example runs in the tests.
//!
//! | you | page |
//! |---|---|
//! | own a table of vectors and must share it | [`owner`] |
//! | collect vectors from people's devices | [`fleet`] |
//! | received a release and want to use it | [`consumer`] |
//! | must check what was promised | [`reviewer`] |

pub mod consumer;
pub mod fleet;
pub mod owner;
pub mod reviewer;
