//! What programs hold in memory, in megabytes (of a million bytes), and how often they wake up.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::setup::Setup;

/// The most memory a program had resident from its start to its end.
pub fn peak(setup: &Setup, command: &Command, codes: &[i32]) -> Result<f64> {
    let mut measured = Command::new(setup.floor("peak"));
    measured.arg(command.get_program()).args(command.get_args()).env_clear();
    measured.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // What it prints may be more than belongs into the memory of this process.
    let output = measured.stderr(Stdio::null()).output().context("cannot start peak")?;
    ensure!(output.status.code().is_some_and(|code| codes.contains(&code)), "{command:?} ended with {}", output.status);
    let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("peak prints a number")?;
    Ok(kib * 1024e-6)
}

/// Proportional set size: its own pages, and its share of those that it has in common with others.
pub fn pss(pid: i32) -> Result<f64> {
    let rollup = read(pid, "smaps_rollup")?;
    let kib: f64 = field(&rollup, "Pss:").context("no Pss: in smaps_rollup")?;
    Ok(kib * 1024e-6)
}

/// What of that is not the program's file, which the kernel keeps in memory anyway and takes back when it needs room.
pub fn pss_without_file(pid: i32) -> Result<f64> {
    let rollup = read(pid, "smaps_rollup")?;
    let kib: f64 = field(&rollup, "Pss_Anon:").context("no Pss_Anon: in smaps_rollup")?;
    Ok(kib * 1024e-6)
}

/// How often its threads have gone to sleep of their own accord so far: once for each time they were woken up.
pub fn sleeps(pid: i32) -> Result<f64> {
    let mut all = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        all += field(&status, "voluntary_ctxt_switches:").unwrap_or_default();
    }
    Ok(all)
}

/// Seconds of processor time that it has had so far.
pub fn cpu(pid: i32) -> Result<f64> {
    let stat = read(pid, "schedstat")?;
    let nanoseconds: f64 = stat.split_whitespace().next().unwrap_or_default().parse().context("schedstat")?;
    Ok(nanoseconds / 1e9)
}

fn read(pid: i32, name: &str) -> Result<String> {
    fs::read_to_string(format!("/proc/{pid}/{name}")).with_context(|| format!("process {pid} has ended"))
}

fn field(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A process that has this text in its environment: a server that a command has left behind.
pub fn find_by_environment(text: &str) -> Option<i32> {
    let mut processes = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.find(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(text.len()).any(|window| window == text.as_bytes())
    })
}
