//! nq: no server; each queued job is a process that waits for the locks of those before it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{Peer, Plug, find};
use crate::process::{bare, time};

pub struct Nq {
    program: PathBuf,
    room: PathBuf,
    plug: Plug,
}

impl Nq {
    pub fn new(room: &Path, name: &str) -> Result<Self> {
        let room = room.join(name);
        fs::create_dir_all(room.join("queue"))?;
        Ok(Self { program: find("nq")?, plug: Plug::new(&room)?, room })
    }

    fn command(&self) -> Command {
        let mut command = bare(&self.program);
        command.env("NQDIR", self.room.join("queue"));
        command
    }
}

impl Peer for Nq {
    fn name(&self) -> &'static str {
        "nq"
    }

    /// With `-c` a job's file goes with it; each new job looks at all files that there are.
    fn add(&self, words: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["-c", "-q"]).args(words);
        command
    }

    fn hold(&self) -> Result<()> {
        time(&mut self.add(&self.plug.words()), &[0]).map(drop)
    }

    fn release(&self) -> Result<()> {
        self.plug.pull()?;
        self.settle()
    }

    fn settle(&self) -> Result<()> {
        time(self.command().arg("-w"), &[0]).map(drop)
    }
}
