//! Exporters that want ten gigabytes, through the real request, tick and run.

use crate::support::rogue::{ends, python};

const MEMORY: &str = "limits.memory = \"100MB\"";

#[track_caller]
fn is_ended_for_memory(script: &str) {
    let ended = ends(&python(script), MEMORY, "memory");
    ended.is_answered("failed_unknown the export failed\n");
    assert!(ended.number("peak_memory") > 100_000_000);
}

#[test]
fn ten_gigabytes_of_malloc() {
    is_ended_for_memory("x = b\"x\" * (10 << 30)\nimport time\ntime.sleep(1000)");
}

#[test]
fn ten_gigabytes_of_mmap() {
    is_ended_for_memory("import mmap\nm = mmap.mmap(-1, 10 << 30)\nfor i in range(0, 10 << 30, 4096): m[i] = 1");
}

#[test]
fn ten_gigabytes_over_ten_children() {
    let child = " if os.fork() == 0:\n  x = b\"x\" * (1 << 30)\n  time.sleep(1000)\n";
    is_ended_for_memory(&format!("import os,time\nfor i in range(10):\n{child}time.sleep(1000)"));
}

/// No child comes near the limit; only their sum does.
#[test]
fn forty_children_with_a_little_each() {
    let child = " if os.fork() == 0:\n  x = b\"x\" * (8 << 20)\n  time.sleep(1000)\n";
    is_ended_for_memory(&format!("import os,time\nfor i in range(40):\n{child}time.sleep(1000)"));
}

/// What the kernel refuses shows in the exporter's own way, since it never had the memory.
#[test]
fn a_refused_address_space_is_the_exporters_failure() {
    let settings = "limits.address_space = \"1GB\"";
    let ended = ends(&python("x = b\"x\" * (10 << 30)"), settings, "exit");
    assert!(ended.text("log_tail").contains("MemoryError"), "{}", ended.text("log_tail"));
    ends(&python("x = b\"x\" * (10 << 30)"), "limits.data = \"1GB\"", "exit");
}
