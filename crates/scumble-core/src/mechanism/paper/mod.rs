//! The algorithms of \[LL23\], one file each, to be read beside the paper.
//!
//! Lines of an algorithm's box are counted from 1, beginning with the first after Input and Output; lines that only
//! name a variant are not counted. (The paper prints numbers that count Input and Output too: its line 7 of Algorithm 8
//! is line 5 here.) A comment `// line 3: ...` marks where that line is carried out, or where its
//! number is fixed. The line that applies the projection, and the one that adds the noise or flips the sign, run for
//! every row in [`Perturbation::apply`](super::Perturbation::apply); here their numbers are fixed.

pub(crate) mod dp_oporp;
pub(crate) mod dp_rp_g;
pub(crate) mod dp_rp_g_opt_b;
pub(crate) mod dp_rp_l;
pub(crate) mod dp_signoporp_rr;
pub(crate) mod dp_signrp_rr;
pub(crate) mod dp_signrp_rr_smooth;
pub(crate) mod idp_signrp;
pub(crate) mod raw_g_opt;
