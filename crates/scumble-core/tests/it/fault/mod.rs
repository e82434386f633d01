//! Requests that must be refused, and promises at extreme numbers.

mod dependant;
mod refusals;
