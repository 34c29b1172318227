//! at: jobs are files in a spool directory, and a daemon is signalled for each.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use nix::unistd::geteuid;

use super::{Peer, find};
use crate::{
    process::{Beside, bare, time},
    setup::Setup,
};

/// What is queued for later goes into a queue of its own, so that it can be taken back.
const LATER: [&str; 5] = ["-q", "z", "now", "+", "1hour"];

pub struct At {
    program: PathBuf,
    script: PathBuf,
    held: Cell<bool>,
    /// Other people's jobs in that queue.
    before: RefCell<BTreeSet<String>>,
    /// Ours, if none was running.
    _daemon: Option<Beside>,
}

impl At {
    pub fn new(room: &Path, _: &Setup) -> Result<Self> {
        let daemon = if running() { None } else { Some(start()?) };
        let script = room.join("at.sh");
        Ok(Self { program: find("at")?, script, held: Cell::new(false), before: RefCell::default(), _daemon: daemon })
    }

    fn later() -> Result<BTreeSet<String>> {
        let output = bare("atq").args(["-q", "z"]).stdout(std::process::Stdio::piped()).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
    }
}

fn running() -> bool {
    let pid = fs::read_to_string("/run/atd.pid").unwrap_or_default();
    fs::read_to_string(format!("/proc/{}/comm", pid.trim())).is_ok_and(|comm| comm.trim() == "atd")
}

fn start() -> Result<Beside> {
    ensure!(geteuid().is_root(), "atd is not running, and only root can start it");
    Beside::start(bare(find("atd")?).arg("-f"))
}

impl Peer for At {
    fn name(&self) -> &'static str {
        "at"
    }

    fn add(&self, words: &[&str]) -> Command {
        let line = words.join(" ") + "\n";
        // The same job as before need not be written again: that is no part of queueing it.
        if fs::read_to_string(&self.script).ok().as_ref() != Some(&line) {
            fs::write(&self.script, line).expect("a script in our own directory");
        }
        let mut command = bare(&self.program);
        command.arg("-f").arg(&self.script).args(if self.held.get() { &LATER[..] } else { &LATER[2..3] });
        command
    }

    fn hold(&self) -> Result<()> {
        self.held.set(true);
        self.before.replace(Self::later()?);
        Ok(())
    }

    fn release(&self) -> Result<()> {
        self.held.set(false);
        let ours: Vec<String> = Self::later()?.difference(&self.before.borrow()).cloned().collect();
        for some in ours.chunks(500) {
            time(bare("atrm").args(some), &[0]).context("cannot take the jobs back")?;
        }
        Ok(())
    }

    /// It cannot be asked for that; our jobs take no time.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
}
