//! Which vector instructions the kernels may use: found once, or forced by `SCUMBLE_SIMD=scalar|avx2|avx512|neon`.
//!
//! Every kernel exists in plain Rust and for each level, equal bit for bit. A level takes the kernel of the level below
//! where its own instructions would gain nothing.

#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod avx512;
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
pub mod neon;

use crate::error::{ParameterError, SimdError};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::sync::OnceLock;

/// Environment variable that forces a level.
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
const VARIABLE: &str = "SCUMBLE_SIMD";

/// Proof that the processor has what a level needs: only detection makes one, so kernels may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found(());

/// What the kernels run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Plain Rust.
    Scalar,
    /// AVX2 and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2(Found),
    /// AVX-512 F, BW, VL, DQ, VBMI, VNNI and VPOPCNTDQ.
    #[cfg(target_arch = "x86_64")]
    Avx512(Found),
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon(Found),
}

impl Level {
    /// Every level that this processor has, plain first.
    pub fn all() -> impl Iterator<Item = Self> {
        use Level::*;
        #[cfg(target_arch = "x86_64")]
        let more = [has_avx2().then_some(Avx2(Found(()))), has_avx512().then_some(Avx512(Found(())))];
        #[cfg(target_arch = "aarch64")]
        let more = [Some(Neon(Found(())))]; // every such processor has it
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let more = [];
        [Some(Scalar)].into_iter().chain(more).flatten()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }
}

/// The level of this process; plain code where the variable asks for the impossible ([`check`] says so).
#[inline]
pub fn level() -> Level {
    *chosen().as_ref().unwrap_or(&Level::Scalar)
}

/// Refuses a `SCUMBLE_SIMD` that is unknown or that this processor lacks; else the name of the level that runs.
pub fn check() -> Result<&'static str, ParameterError> {
    let level = (*chosen())?;
    Ok(level.name())
}

/// There is nothing to choose.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chosen() -> &'static Result<Level, SimdError> {
    static SCALAR: Result<Level, SimdError> = Ok(Level::Scalar);
    &SCALAR
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn chosen() -> &'static Result<Level, SimdError> {
    static CHOSEN: OnceLock<Result<Level, SimdError>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var(VARIABLE).ok().as_deref()))
}

#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
fn choose(asked: Option<&str>) -> Result<Level, SimdError> {
    match asked {
        None | Some("") => Ok(Level::all().last().unwrap_or(Level::Scalar)),
        Some(name) => Level::all().find(|level| level.name() == name).ok_or(match name {
            "avx2" => SimdError::Lacking { level: "avx2" },
            "neon" => SimdError::Lacking { level: "neon" },
            "avx512" => SimdError::LackingAvx512,
            _ => SimdError::Unknown,
        }),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("popcnt") && has!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    let ordinary = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq");
    has_avx2() && ordinary && has!("avx512vbmi") && has!("avx512vnni") && has!("avx512vpopcntdq")
}

/// Prefetches values that will be read soon: a hint, where the level has vector instructions.
#[inline]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn ask<T>(level: Level, values: &[T]) {
    match level {
        Level::Scalar => {}
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        // SAFETY: either level proves that the processor has AVX2.
        Level::Avx2(_) | Level::Avx512(_) => unsafe { avx2::ask(values) },
        #[cfg(target_arch = "aarch64")]
        Level::Neon(_) => {}
    }
}

/// Values side by side in a block: rows that the projection and the samplers take at a time.
pub const LANES: usize = 32;

/// Defines a kernel that runs at a level: the function of that name in the module of that name beside it.
#[doc(hidden)]
#[macro_export]
macro_rules! simd_kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)?) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::too_many_arguments)] // plain slices and numbers: what a kernel is called with
        pub(crate) fn $name(level: $crate::simd::Level, $($arg: $type),*) $(-> $out)? {
            match level {
                $crate::simd::Level::Scalar => scalar::$name($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level proves that the processor has AVX2, FMA and POPCNT.
                $crate::simd::Level::Avx2(_) => unsafe { avx2::$name($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level proves that the processor has AVX-512 F, BW, VL, DQ, VBMI, VNNI and VPOPCNTDQ.
                $crate::simd::Level::Avx512(_) => unsafe { avx512::$name($($arg),*) },
                #[cfg(target_arch = "aarch64")]
                #[allow(unused_unsafe)] // the plain kernels among them need nothing
                // SAFETY: every such processor has NEON.
                $crate::simd::Level::Neon(_) => unsafe { neon::$name($($arg),*) },
            }
        }
    };
}
#[doc(hidden)]
pub use simd_kernel as kernel;

/// Room that begins on a cache line, so that no register of it crosses one.
#[derive(Debug, Clone, Default)]
pub struct Aligned<T> {
    values: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// Room for this many values.
    pub fn new(len: usize) -> Self {
        let mut room = Self { values: Vec::new(), start: 0, len: 0 };
        room.resize(len);
        room
    }

    /// Room for this many values; their contents are unspecified.
    pub fn resize(&mut self, len: usize) {
        const LINE: usize = 64;
        if self.len != len {
            self.values.resize(len + LINE / size_of::<T>(), T::default());
            self.start = self.values.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
            self.len = len;
        }
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.values[self.start..self.start + self.len]
    }
}

impl<T> std::ops::DerefMut for Aligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..self.start + self.len]
    }
}

#[cfg(any(test, feature = "testing"))]
impl<T: Copy + Default> From<&[T]> for Aligned<T> {
    fn from(values: &[T]) -> Self {
        let mut room = Self::new(values.len());
        room.copy_from_slice(values);
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_found_or_refused() {
        assert_eq!(choose(None), choose(Some("")));
        assert_eq!(choose(None).ok(), Level::all().last());
        assert_eq!(choose(Some("sse9")), Err(SimdError::Unknown));
        for name in ["scalar", "avx2", "avx512", "neon"] {
            match Level::all().find(|level| level.name() == name) {
                Some(level) => assert_eq!(choose(Some(name)), Ok(level)),
                None => assert!(choose(Some(name)).is_err_and(|error| error.to_string().contains("has no"))),
            }
        }
    }
}
