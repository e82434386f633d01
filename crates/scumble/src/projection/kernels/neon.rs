//! The kernels for NEON: the plain ones, which the compiler vectorises with what every such processor has.

pub(super) use super::scalar::{
    is_rising, join_banks, oporp_i16, oporp_i32, oporp_u8, pack, quantise_f32_i16, quantise_f32_i32, quantise_f64_i16,
    quantise_f64_i32, rademacher_i16, rademacher_i32, sparse_i16, transpose_i16, transpose_i32, transpose_u8,
    untranspose_i16, untranspose_u8, weighted_i16,
};
