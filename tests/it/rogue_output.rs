//! Exporters that write ten gigabytes, through the real request, tick and run.

use std::fs;

use crate::rogue::{Ended, ends};

const TEN_GB: &str = "head -c 10000000000 /dev/zero";

#[track_caller]
fn log(ended: &Ended) -> Vec<u8> {
    fs::read(ended.site.path("s/log").join(format!("{}.log", ended.attempt))).expect("a log")
}

#[test]
fn into_its_output() {
    let ended = ends(&format!("exec {TEN_GB} >\"$1\""), "limits.file_size = \"1MB\"", "file_size");
    ended.is_answered("failed_unknown the export failed\n");
    assert_eq!(ended.number("signal"), 25);
    ends(&format!("{TEN_GB} >\"$1\""), "limits.file_size = \"1MB\"", "file_size");
}

/// Exit 0 and a file that looks whole, cut at the limit.
#[test]
fn into_its_output_by_a_program_that_ignores_the_limit() {
    let ended = ends(&format!("trap '' XFSZ; {TEN_GB} >\"$1\"; exit 0"), "limits.file_size = \"1MB\"", "file_size");
    assert_eq!(ended.number("exit_code"), 0);
    assert!(!ended.site.cached("epub/rogue.epub").exists());
}

#[test]
fn into_many_files_of_its_work_directory() {
    let script = "i=0; while :; do i=$((i + 1)); head -c 1000000 /dev/zero >part$i; done";
    ends(script, "limits.work_size = \"20MB\"", "file_size");
}

#[test]
fn to_stdout_and_to_stderr_without_a_line_end() {
    for stream in ["1", "2"] {
        let ended = ends(&format!("exec {TEN_GB} >&{stream}"), "timeout = \"1s\"", "timeout");
        let log = log(&ended);
        assert!((60_000..=65_536).contains(&log.len()), "{} bytes", log.len());
        assert!(ended.text("log_tail").len() <= 4096);
    }
}

/// Ten megabytes of lines hold up nobody: head and tail are kept.
#[test]
fn a_chatty_one_succeeds_and_its_log_has_head_and_tail() {
    let script = "echo first; seq 1500000 >&2; echo last; echo x >\"$1\"";
    let ended = ends(script, "log_max = \"10KiB\"", "ok");
    let log = String::from_utf8(log(&ended)).expect("UTF-8");
    assert!(log.len() <= 10_240 && log.starts_with("first\n1\n2\n") && log.ends_with("1500000\nlast\n"), "{log}");
    assert!(log.contains("bytes left out"));
    let tail = ended.text("log_tail");
    assert!(tail.len() <= 4096 && tail.ends_with("1500000\nlast\n"), "{tail}");
}

#[test]
fn bytes_that_are_no_text_are_shown_as_text() {
    let ended = ends(r"printf 'a\377\033[31mb\000c\n'; printf '%5000s\n' x; exit 1", "", "exit");
    let tail = ended.text("log_tail");
    assert!(!tail.contains('\u{1b}') && !tail.contains('\0'), "{tail:?}");
    assert!(tail.len() <= 4096 && tail.ends_with("…\n"), "{tail:?}");
    let raw = log(&ended);
    assert!(raw.starts_with(b"a\xff\x1b[31mb\0c\n"), "the file has what was written");
}
