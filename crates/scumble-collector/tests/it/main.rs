//! The collector against its promises.

mod http;
mod model;
mod stores;
mod support;
