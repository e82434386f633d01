//! The mechanisms that are ours, one file each.

pub(crate) mod dp_oporp_lattice;
pub(crate) mod dp_oporp_zones;
pub(crate) mod raw;
