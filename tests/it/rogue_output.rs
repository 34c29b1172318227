//! Exporters that write ten gigabytes, through the real request, tick and run.

use std::fs;

use crate::support::{
    rogue::{Ended, ends},
    running::{held_by, kill_run, noted},
    site::{Site, wait_until},
    together::Beside,
};

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

/// What is kept of the output goes to the disk as it comes, and is put in order once.
#[test]
fn a_large_log_needs_little_memory_and_is_written_about_once() {
    let (output, kept) = (130_000_000_u64, 60_000_000_u64);
    let script = format!("echo first; head -c {output} /dev/zero; echo; echo last; echo x >\"$1\"");
    let site = Site::new().exporter_with(&script, &format!("log_max = \"{kept}B\"")).create();
    site.ask("Emma").exits(75);
    let gate = site.path("gate");
    let mut tick = site.command(&["tick", "--allow-root", "--wait"]);
    tick.env("PRESSROOM_FAILPOINT", format!("run-exporter-ended=pause:{}", gate.display()));
    let tick = Beside::start(&mut tick);
    wait_until("the exporter has ended", || site.path("gate.reached").exists());
    let run = noted(&site, "run");
    let about = |file: &str, key: &str| {
        let text = fs::read_to_string(format!("/proc/{}/{file}", run.split(' ').next().unwrap())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect(key);
        line.trim().trim_end_matches(" kB").parse::<u64>().expect(key)
    };
    // What the exporter wrote counts with its parent.
    let (memory, written) = (about("status", "VmHWM:") * 1024, about("io", "wchar:") - output);
    eprintln!("{output} bytes of output, {kept} kept: {memory} bytes of memory, {written} bytes written");
    assert!(memory < kept / 2, "{memory} bytes of memory");
    assert!(written < output + output / 4 + kept, "{written} bytes written");
    fs::write(gate, "").unwrap();
    tick.end().exits(0).stdout("").stderr("");
    let attempt = site.text("SELECT id FROM attempt");
    let log = fs::read(site.path("s/log").join(format!("{attempt}.log"))).unwrap();
    assert_eq!(log.len() as u64, kept);
    assert!(log.starts_with(b"first\n\0\0\0") && log.ends_with(b"\0\0\0\nlast\n"));
}

/// A run that is killed leaves a log whose newest bytes are not at its end.
#[test]
fn the_log_of_a_running_and_of_a_killed_run_is_read_in_order() {
    let script = "echo first; seq 100000 123456; echo up >>../../../up\nuntil [ -e ../../../go ]; do sleep 0.01; done";
    let site = held_by(script, "log_max = \"10000B\"\nmax_attempts = 2");
    let log = || site.run(&["jobs", "log", "epub/Emma.epub"]).exits(0).out();
    wait_until("the last line is there", || log().ends_with("\n123455\n123456\n"));
    let log = log();
    assert!(log.starts_with("first\n100000\n100001\n") && log.contains("bytes left out so far"), "{log}");
    let (_, tail) = log.split_once("so far").unwrap();
    let numbers: Vec<u32> = tail.lines().skip(2).map(|line| line.parse().expect("a whole number")).collect();
    assert!(numbers.len() > 500 && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{log}");
    kill_run(&site);
    site.brief_tick().exits(0).stderr("");
    let kept = site.text("SELECT log_tail FROM attempt");
    assert!(kept.ends_with("\n123455\n123456\n") && kept.len() > 3500, "{kept}");
}
