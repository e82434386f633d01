//! Requests that must be refused.

mod refusals;
