//! The systemd units, as far as they can be judged without systemd running.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::support::{outside::has, site::Done};

/// `systemd-analyze security` goes from 0 to 100; ordinary services are at 96.
const EXPOSURE: &str = "40";

/// Copies that name the program which was built for the tests, and no manual pages, which are not installed.
fn laid(into: &Path) -> [std::path::PathBuf; 2] {
    ["pressroom.service", "pressroom.timer"].map(|name| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd").join(name);
        let text = fs::read_to_string(source).unwrap().replace("/usr/bin/pressroom", env!("CARGO_BIN_EXE_pressroom"));
        let text: Vec<_> = text.lines().filter(|line| !line.starts_with("Documentation=")).collect();
        let path = into.join(name);
        fs::write(&path, text.join("\n")).unwrap();
        path
    })
}

#[test]
fn systemd_understands_the_units_and_finds_the_service_hardened() {
    if !has("systemd_understands_the_units_and_finds_the_service_hardened", "systemd-analyze") {
        return;
    }
    let dir = TempDir::new().unwrap();
    let units = laid(dir.path());
    let analyze = |words: &[&str]| Done::of(Command::new("systemd-analyze").args(words).args(&units));
    analyze(&["verify"]).exits(0).stdout("").stderr("");
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", "--threshold", EXPOSURE]).arg(&units[0]);
    Done::of(&mut security).exits(0);
}

/// What the last setting of this name in the packaged service says.
fn setting(name: &str) -> Option<&'static str> {
    let lines = include_str!("../../packaging/systemd/pressroom.service").lines();
    let value = |line: &'static str| line.strip_prefix(name)?.strip_prefix('=');
    lines.filter_map(value).next_back()
}

/// Read from the unit and not seen to happen: where tests run, systemd is seldom the first process. With any other
/// `KillMode` the end of a tick, once a minute, would be the end of each export that it has started.
#[test]
fn runs_outlive_the_lingering_tick_of_a_unit() {
    assert_eq!(setting("ExecStart"), Some("/usr/bin/pressroom tick --for 60s"));
    assert_eq!(setting("KillMode"), Some("process"));
    // Nor may what is left be killed after a time-out, or find its place gone: in /tmp, or in the cache, whose
    // directories hand their group on.
    assert_eq!(setting("SendSIGKILL"), Some("no"));
    for name in ["PrivateTmp", "RestrictSUIDSGID", "RuntimeMaxSec"] {
        assert_eq!(setting(name), None, "{name}");
    }
}
