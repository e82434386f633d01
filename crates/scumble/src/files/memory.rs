//! Memory for tables and row groups.

/// Asks for huge pages for a large vector's spare room, before it is touched: touching it, and reading it again and again,
/// then waits less for page tables. Nothing depends on the answer.
pub(crate) fn in_huge_pages<T>(room: &mut Vec<T>) {
    ask(room.spare_capacity_mut());
}

/// As many zeros, in huge pages if there are many.
pub(crate) fn zeros(len: usize) -> Vec<f32> {
    let mut room = vec![0.0; len]; // untouched until they are written
    ask(&mut room);
    room
}

#[cfg(target_os = "linux")]
fn ask<T>(room: &mut [T]) {
    use rustix::mm::{Advice, madvise};
    const LEAST: usize = 4 << 20;
    const PAGE: usize = 4096;
    let start = room.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE).min(size_of_val(room));
    let bytes = (size_of_val(room) - skipped) / PAGE * PAGE;
    if bytes >= LEAST {
        // SAFETY: whole pages of this slice alone, and the advice changes no byte of them.
        #[allow(unsafe_code)]
        let _ = unsafe { madvise(start.add(skipped).cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask<T>(_: &mut [T]) {}
