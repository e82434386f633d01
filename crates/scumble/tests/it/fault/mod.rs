//! Planted faults that a test must find.

mod faults;
