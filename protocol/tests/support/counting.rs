//! An allocator that counts. A program that includes this file uses it for everything.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// Counts what the current thread takes, so that tests may run side by side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn grow(by: isize) {
    LIVE.set(LIVE.get() + by);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

#[expect(unsafe_code, reason = "an allocator can only be written with unsafe")]
// SAFETY: everything is handed on to the system's allocator as it came; the counters are plain cells that take no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        grow(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        grow(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // Old and new may exist side by side while it copies.
        grow(size as isize);
        grow(-(layout.size() as isize));
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        grow(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` allocates on this thread, and what it gives.
#[allow(dead_code, reason = "not every program that includes this file asks")]
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = ALLOCATIONS.get();
    let result = work();
    (ALLOCATIONS.get() - before, result)
}

/// How often this thread has allocated so far.
#[allow(dead_code, reason = "not every program that includes this file asks")]
pub(crate) fn allocated() -> usize {
    ALLOCATIONS.get()
}

/// The most that `work` holds on this thread at a time, in bytes, and what it gives.
#[allow(dead_code, reason = "not every program that includes this file asks")]
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    ((PEAK.get() - before) as usize, result)
}
