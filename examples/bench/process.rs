//! Running a program and taking its time.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The program with an empty environment: what the shell happens to have set must not be measured.
pub fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Milliseconds from before the start to the end of a process, which must exit with one of `codes`.
pub fn time(command: &mut Command, codes: &[i32]) -> Result<f64> {
    let begin = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let time = milliseconds(begin.elapsed());
    ensure!(status.code().is_some_and(|code| codes.contains(&code)), "{command:?} ended with {status}");
    Ok(time)
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Waits until something is so, at most a minute.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > Duration::from_mins(1) {
            bail!("waited in vain until {what}");
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// A process that stays beside the measurement; it is asked to end when this is dropped.
pub struct Beside {
    child: Child,
    /// Its children are asked as well.
    family: bool,
}

impl Beside {
    pub fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { child, family: false })
    }

    /// One that forgets its children when it ends.
    pub fn start_family(command: &mut Command) -> Result<Self> {
        let mut beside = Self::start(command.process_group(0))?;
        beside.family = true;
        Ok(beside)
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid is positive")
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let whom = if self.family { -self.pid() } else { self.pid() };
        let _ = kill(Pid::from_raw(whom), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}
