//! The module's memory: blocks of powers of two, a list of free ones for each. A tenth of the standard allocator's size.
//!
//! A device opens a client, reports and closes: few sizes, again and again. What is freed is kept for its size; at most half
//! of a block is unused. One thread only, as a WASM module without threads has.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// Bytes that memory grows by.
const PAGE: usize = 1 << 16;
/// The largest alignment that anything here asks for.
const MOST_ALIGNED: usize = 64;

/// See the module's documentation. `grow` adds this many pages and gives the first one's address; `None` if it cannot.
pub struct Heap {
    grow: fn(usize) -> Option<usize>,
    free: [Cell<usize>; 32], // the first free block of 2^i bytes; each begins with the address of the next
    next: Cell<usize>,       // what was never given out
    end: Cell<usize>,
}

// SAFETY: there is one thread.
unsafe impl Sync for Heap {}

impl Heap {
    /// An empty heap.
    pub const fn new(grow: fn(usize) -> Option<usize>) -> Self {
        Self { grow, free: [const { Cell::new(0) }; 32], next: Cell::new(0), end: Cell::new(0) }
    }

    /// A block that has never been given out.
    fn fresh(&self, size: usize) -> Option<usize> {
        let align = size.min(MOST_ALIGNED);
        let mut start = self.next.get().next_multiple_of(align);
        if start.checked_add(size)? > self.end.get() {
            let pages = size.div_ceil(PAGE);
            let grown = (self.grow)(pages)?;
            if grown != self.end.get() {
                start = grown; // someone else has grown it in between: pages are aligned
            }
            self.end.set(grown + pages * PAGE);
        }
        self.next.set(start + size);
        Some(start)
    }
}

/// The list that a block belongs to; `None` when its size or its alignment is too large.
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(16);
    let fits = layout.align() <= MOST_ALIGNED && size <= 1 << 31;
    fits.then(|| size.next_power_of_two().trailing_zeros() as usize)
}

// SAFETY: a block is as large and as aligned as was asked for, and given out once until it is freed.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else { return std::ptr::null_mut() };
        let first = self.free[class].get();
        if first == 0 {
            return self.fresh(1 << class).map_or(std::ptr::null_mut(), std::ptr::with_exposed_provenance_mut);
        }
        let block = std::ptr::with_exposed_provenance_mut::<usize>(first);
        // SAFETY: a free block begins with the address of the next.
        self.free[class].set(unsafe { block.read() });
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else { return };
        // SAFETY: the block is of this class, so it has room for an address and is aligned for one.
        unsafe { block.cast::<usize>().write(self.free[class].get()) };
        self.free[class].set(block.expose_provenance());
    }
}

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static HEAP: Heap = Heap::new(|pages| match core::arch::wasm32::memory_grow(0, pages) {
    usize::MAX => None,
    before => Some(before * PAGE),
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages from the test's own memory, never given back; every third time with a hole before.
    fn grow(pages: usize) -> Option<usize> {
        let layout = Layout::from_size_align((pages + 1) * PAGE, PAGE).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc(layout) }.expose_provenance();
        (pages < 100).then_some(start)
    }

    proptest! {
        /// Blocks that live at the same time never overlap, are aligned, and keep what was written.
        #[test]
        fn blocks_are_apart(steps in prop::collection::vec((1usize..9000, 0u32..7, any::<bool>()), 1..300)) {
            let heap = Heap::new(grow);
            let mut held: Vec<(*mut u8, Layout, u8)> = Vec::new();
            for (number, (size, align, frees)) in steps.into_iter().enumerate() {
                if frees && !held.is_empty() {
                    let (block, layout, mark) = held.swap_remove(number % held.len());
                    // SAFETY: given out by this heap with this layout.
                    unsafe {
                        let bytes = std::slice::from_raw_parts(block, layout.size());
                        prop_assert!(bytes.iter().all(|byte| *byte == mark));
                        heap.dealloc(block, layout);
                    }
                    continue;
                }
                let layout = Layout::from_size_align(size, 1 << align).unwrap();
                // SAFETY: the size is not zero; the block has as many bytes.
                let block = unsafe { heap.alloc(layout) };
                prop_assert!(!block.is_null() && block.addr() % layout.align() == 0);
                let apart = |other: &(*mut u8, Layout, u8)| {
                    block.addr() + size <= other.0.addr() || other.0.addr() + other.1.size() <= block.addr()
                };
                prop_assert!(held.iter().all(apart));
                unsafe { block.write_bytes(number as u8, size) };
                held.push((block, layout, number as u8));
            }
        }
    }

    #[test]
    fn what_cannot_be_had_is_null() {
        let heap = Heap::new(grow);
        for (size, align) in [(200 * PAGE, 8), (1 << 40, 8), (64, 128)] {
            // SAFETY: sizes are not zero.
            assert!(unsafe { heap.alloc(Layout::from_size_align(size, align).unwrap()) }.is_null());
        }
        let layout = Layout::new::<u64>();
        // SAFETY: as above; the block is freed with its layout.
        unsafe {
            let first = heap.alloc(layout);
            heap.dealloc(first, layout);
            assert_eq!(heap.alloc(layout), first, "what is free is used again");
        }
    }
}
