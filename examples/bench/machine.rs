//! On what it was measured: figures of different machines cannot be compared, ratios nearly can.

use std::{fs, path::Path, process::Command, thread};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::setup::Setup;

/// What a reader of the figures wants to know about the machine.
pub struct Machine {
    processor: String,
    processors: usize,
    kernel: String,
    system: String,
    file_system: String,
    load: f64,
}

impl Machine {
    /// `dir`: where the measurements write.
    pub fn look(dir: &Path) -> Self {
        Self {
            processor: processor(),
            processors: thread::available_parallelism().map_or(0, usize::from),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            system: system(),
            file_system: output("stat", &["-f", "-c", "%T", &dir.display().to_string()]),
            load: load(),
        }
    }

    pub fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "processors": self.processors,
            "kernel": self.kernel,
            "system": self.system,
            "file_system": self.file_system,
            "load_before": self.load,
        })
    }

    /// Above the table.
    pub fn sentence(&self, setup: &Setup) -> String {
        let Self { processor, processors, kernel, system, file_system, load } = self;
        format!(
            "A {} run on {}: {processors} × {processor}, {system}, Linux {kernel}, {file_system}; the load was {load} \
             before and {} after.",
            setup.pick("full", "quick"),
            today(),
            self::load()
        )
    }
}

pub fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
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
