//! A table that earns its memory only when many attributes are asked for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Built by the first caller that shows the need, while the others go on without it: nobody ever waits, so it is
/// safe inside a thread pool (a waiting worker could otherwise wait for itself).
pub(super) struct Cache<T> {
    value: OnceLock<T>,
    asked: AtomicU64,
    claimed: AtomicBool,
}

impl<T> Cache<T> {
    pub(super) fn new() -> Self {
        Self { value: OnceLock::new(), asked: AtomicU64::new(0), claimed: AtomicBool::new(false) }
    }

    /// The table if it is there, or if the attributes asked for so far reach `enough` and nobody else is building it.
    pub(super) fn get(&self, attributes: usize, enough: usize, build: impl FnOnce() -> T) -> Option<&T> {
        if self.value.get().is_none() {
            let before = self.asked.fetch_add(attributes as u64, Ordering::Relaxed);
            if before + attributes as u64 >= enough as u64 && !self.claimed.swap(true, Ordering::Relaxed) {
                let _ = self.value.set(build());
            }
        }
        self.value.get()
    }
}

/// A value computed on first use. Two threads may compute it twice; neither waits for the other.
pub(super) fn compute_once<T>(slot: &OnceLock<T>, compute: impl FnOnce() -> T) -> &T {
    if slot.get().is_none() {
        let _ = slot.set(compute());
    }
    slot.get().expect("just set")
}
