//! The collector against its promises.

mod fuzz;
mod http;
mod model;
mod process;
mod stores;
mod support;
