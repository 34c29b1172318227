//! On what it was measured: figures of different machines cannot be compared, ratios nearly can.

use std::{fs, path::Path, process::Command, thread};

use serde_json::{Value, json};

/// What a reader of the figures wants to know about the machine.
pub fn describe(dir: &Path) -> Value {
    json!({
        "processor": processor(),
        "processors": thread::available_parallelism().map_or(0, usize::from),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "system": system(),
        "file_system": output("stat", &["-f", "-c", "%T", &dir.display().to_string()]),
        "load_before": load(),
    })
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    line.split_once(':').map_or(String::new(), |(_, name)| name.trim().to_owned())
}

fn system() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    name.trim_matches('"').to_owned()
}

/// Processes that wanted to run, on average over a minute: above the number of processors somebody else was at work.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn output(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
