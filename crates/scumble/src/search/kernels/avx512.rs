//! The kernels for AVX-512 are those of AVX2: counting bits by look-ups is bound by a unit that is as wide there, one query by
//! memory, and inner products by what their order of additions leaves to do at once.

pub(super) use super::avx2::{distances, dot, dots, dots_one, look_up, plain_distances, split_nibbles};
