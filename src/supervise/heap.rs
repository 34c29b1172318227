//! The heap. Where the machine gives no more memory the program says so and ends with a code of its own: the standard
//! library would end it by a signal, which looks like a fault of ours.

use std::alloc::{GlobalAlloc, Layout, System};

use nix::libc;

/// `EX_IOERR`, as for whatever else the machine refuses.
const EXIT: libc::c_int = 74;
const SENTENCE: &[u8] =
    b"pressroom: the machine gives no more memory; free some, or raise the limit that cron or the web server sets\n";

#[global_allocator]
static HEAP: Heap = Heap;

/// The system's allocator, which never fails: the process ends in its place.
struct Heap;

// SAFETY: everything is done by the system's allocator, and what it returns is returned as it is.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        given(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(old, layout) }
    }
}

fn given(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Nothing is cleaned up, as after a kill: everything that is kept on the disk stands that.
#[cold]
fn end() -> ! {
    // SAFETY: the text is valid for its length; neither call needs the heap.
    unsafe {
        libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len());
        libc::_exit(EXIT)
    }
}
