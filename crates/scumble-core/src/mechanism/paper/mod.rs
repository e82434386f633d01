//! The algorithms of \[LL23\], one file each.

pub(crate) mod dp_oporp;
pub(crate) mod dp_rp;
pub(crate) mod dp_rp_g_opt_b;
pub(crate) mod dp_rp_l;
pub(crate) mod dp_signoporp;
pub(crate) mod dp_signrp_rr;
pub(crate) mod dp_signrp_smooth;
pub(crate) mod idp_signrp;
