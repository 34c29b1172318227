//! What the trial says at its end: how it went, what was used of what was allowed, and which limits would fit.

use std::time::Duration;

use super::fit;
use crate::{
    model::{format, job::Outcome, limits::Limits},
    supervise::{ExecSpec, ProcessResult},
};

/// Prints the report on stdout.
pub fn print(outcome: Outcome, why: Option<&str>, ending: &ProcessResult, order: &ExecSpec) {
    println!("result: {}{}", outcome.name(), details(why, ending));
    let limits = &order.limits;
    println!("time: {} of {}", seconds(ending.duration), humantime::format_duration(limits.timeout));
    println!(
        "cpu: {} of {}",
        seconds(ending.cpu_used),
        limits.cpu.map_or("none".into(), |cpu| humantime::format_duration(cpu).to_string())
    );
    println!("memory: {} of {}", format::bytes(ending.peak_memory), limit(limits.memory));
    println!("largest file: {} of {}", format::bytes(ending.largest_file), limit(limits.file_size));
    println!("work directory: {} of {}", format::bytes(ending.peak_work), limit(limits.work_size));
    println!("processes: {}", ending.peak_processes);
    if outcome == Outcome::Ok {
        println!("\nlimits that would fit a job of this size:\n{}", fitting(ending, limits));
    }
}

fn details(why: Option<&str>, ending: &ProcessResult) -> String {
    let code = ending.exit_code.filter(|code| *code != 0).map(|code| format!(", exit status {code}"));
    let signal = ending.signal.map(|signal| format!(", signal {signal}"));
    let parts =
        [code, signal, why.map(|why| format!(", {why}")), ending.message.as_ref().map(|text| format!(", \"{text}\""))];
    parts.into_iter().flatten().collect()
}

/// In the words of the configuration, ready to be copied.
fn fitting(ending: &ProcessResult, limits: &Limits) -> String {
    let mut lines = vec![
        format!("timeout = \"{}\"", humantime::format_duration(fit::time(ending.duration))),
        format!("limits.memory = \"{}\"", fit::size(ending.peak_memory)),
        format!("limits.cpu = \"{}\"", humantime::format_duration(fit::time(ending.cpu_used))),
    ];
    if limits.file_size.is_some() {
        lines.push(format!("limits.file_size = \"{}\"", fit::size(ending.largest_file)));
    }
    if limits.work_size.is_some() {
        lines.push(format!("limits.work_size = \"{}\"", fit::size(ending.peak_work)));
    }
    lines.join("\n")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn limit(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "none".to_owned(), format::size)
}
