//! The kernels for AVX-512 are those of AVX2: counting bits by look-ups is bound by a unit that is as wide there, and one query by
//! memory. Inner products have twice as many registers to choose from.

use super::avx2::{add_lanes, dots_kernel, end};
pub(super) use super::avx2::{distances, dot, dots_one, look_up, plain_distances, split_nibbles};
use super::{CHUNK, QUERIES, TILE};
use scumble_core::simd::avx2::load_floats;
use std::arch::x86_64::*;

dots_kernel!("avx2,fma,avx512f,avx512vl");
