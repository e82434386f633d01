//! Memory for tables that are read again and again.

/// Asks for huge pages for a large vector's spare room, before it is touched: a scan of a table then waits less for
/// page tables. Nothing depends on the answer.
#[cfg(target_os = "linux")]
pub(super) fn in_huge_pages(room: &mut Vec<u8>) {
    use rustix::mm::{Advice, madvise};
    const LEAST: usize = 4 << 20;
    const PAGE: usize = 4096;
    let free = room.spare_capacity_mut();
    let skipped = free.as_ptr().align_offset(PAGE).min(free.len());
    let free = &mut free[skipped..];
    let bytes = free.len() / PAGE * PAGE;
    if bytes >= LEAST {
        // SAFETY: whole pages of this vector alone, and the advice changes no byte of them.
        #[allow(unsafe_code)]
        let _ = unsafe { madvise(free.as_mut_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn in_huge_pages(_: &mut Vec<u8>) {}
