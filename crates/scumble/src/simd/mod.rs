//! Which vector instructions the kernels may use: found once, or forced by `SCUMBLE_SIMD=scalar|avx2|avx512`.
//!
//! Every kernel exists as plain Rust and as AVX2, equal bit for bit. There are no kernels for AVX-512 yet: that level is
//! accepted where the processor has it and runs the AVX2 ones. Other processors run the plain code.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;

use crate::error::ParameterError;
use std::sync::OnceLock;

/// Environment variable that forces a level.
const VARIABLE: &str = "SCUMBLE_SIMD";

/// Proof that the processor has AVX2: only detection makes one, so that kernels may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

/// What the kernels run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Scalar,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Avx2(Avx2),
}

impl Level {
    /// Every level that this processor has, plain first.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        [Some(Self::Scalar), avx2()].into_iter().flatten().collect()
    }
}

/// The level of this process; plain code where the variable asks for the impossible ([`check`] says so).
#[inline]
pub(crate) fn level() -> Level {
    *chosen().as_ref().unwrap_or(&Level::Scalar)
}

/// Refuses a `SCUMBLE_SIMD` that is unknown or that this processor lacks; else the name of the level that runs.
pub fn check() -> Result<&'static str, ParameterError> {
    match chosen() {
        Ok(Level::Scalar) => Ok("scalar"),
        Ok(Level::Avx2(_)) => Ok("avx2"),
        Err(message) => Err(ParameterError::invalid(message.clone())),
    }
}

fn chosen() -> &'static Result<Level, String> {
    static CHOSEN: OnceLock<Result<Level, String>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var(VARIABLE).ok().as_deref()))
}

fn choose(asked: Option<&str>) -> Result<Level, String> {
    let lacking = |name: &str| format!("{VARIABLE}={name}, but this processor has no {name}");
    match asked {
        None | Some("") => Ok(avx2().unwrap_or(Level::Scalar)),
        Some("scalar") => Ok(Level::Scalar),
        Some("avx2") => avx2().ok_or_else(|| lacking("avx2")),
        Some("avx512") if has_avx512() => avx2().ok_or_else(|| lacking("avx2")),
        Some("avx512") => Err(lacking("avx512")),
        Some(_) => Err(format!("{VARIABLE} must be scalar, avx2 or avx512")),
    }
}

#[cfg(target_arch = "x86_64")]
fn avx2() -> Option<Level> {
    std::arch::is_x86_feature_detected!("avx2").then_some(Level::Avx2(Avx2(())))
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
}

#[cfg(not(target_arch = "x86_64"))]
fn avx2() -> Option<Level> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// Values side by side in a block: rows that the projection and the samplers take at a time.
pub(crate) const LANES: usize = 32;

/// Defines a kernel that runs at a level: the function of that name in the module `scalar` or `avx2` beside it.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)?) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::too_many_arguments)] // plain slices and numbers: what a kernel is called with
        pub(crate) fn $name(level: $crate::simd::Level, $($arg: $type),*) $(-> $out)? {
            match level {
                $crate::simd::Level::Scalar => scalar::$name($($arg),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level proves that the processor has AVX2, and with it POPCNT.
                $crate::simd::Level::Avx2(_) => unsafe { avx2::$name($($arg),*) },
                #[cfg(not(target_arch = "x86_64"))]
                $crate::simd::Level::Avx2(_) => unreachable!("found on x86-64 only"),
            }
        }
    };
}
pub(crate) use kernel;

/// Room that begins on a cache line, so that no register of it crosses one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aligned<T> {
    values: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    pub(crate) fn new(len: usize) -> Self {
        let mut room = Self { values: Vec::new(), start: 0, len: 0 };
        room.resize(len);
        room
    }

    /// Room for so many values; what they are then is not said.
    pub(crate) fn resize(&mut self, len: usize) {
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

#[cfg(test)]
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
        assert_eq!(choose(Some("scalar")), Ok(Level::Scalar));
        assert_eq!(choose(None), choose(Some("")));
        assert!(choose(Some("neon!")).is_err_and(|message| message.contains("scalar, avx2 or avx512")));
        for (name, level) in [("avx2", avx2()), ("avx512", avx2().filter(|_| has_avx512()))] {
            match level {
                Some(level) => assert_eq!(choose(Some(name)), Ok(level)),
                None => assert!(choose(Some(name)).is_err_and(|message| message.contains("has no"))),
            }
        }
    }
}
