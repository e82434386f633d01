//! The kernels for NEON: the plain ones, which the compiler vectorises with what every such processor has.

pub(super) use super::scalar::{flip, guided, symbols};
