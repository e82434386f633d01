//! Our own mechanisms, one file each.

pub(crate) mod dp_oporp_laplace;
pub(crate) mod dp_oporp_lattice;
pub(crate) mod dp_oporp_staircase;
pub(crate) mod dp_oporp_zones;
pub(crate) mod dp_signoporp_ceil;
pub(crate) mod dp_signrp_ceil;
pub(crate) mod raw_laplace;
pub(crate) mod raw_rr;
pub(crate) mod raw_staircase;
