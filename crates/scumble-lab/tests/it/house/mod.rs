//! The house itself: what may import what.

mod imports;
