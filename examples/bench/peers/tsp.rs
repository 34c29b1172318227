//! task-spooler: a server in the background, in memory only.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{Peer, Plug, find};
use crate::process::{bare, time};

pub struct Tsp {
    program: PathBuf,
    room: PathBuf,
    plug: Plug,
}

impl Tsp {
    pub fn new(room: &Path, slots: usize) -> Result<Self> {
        let room = room.join("tsp");
        fs::create_dir(&room)?;
        let tsp = Self { program: find("tsp")?, plug: Plug::new(&room)?, room };
        time(tsp.command().args(["-S", &slots.to_string()]), &[0])?;
        Ok(tsp)
    }

    fn command(&self) -> Command {
        let mut command = bare(&self.program);
        command.env("TS_SOCKET", self.room.join("socket")).env("TMPDIR", &self.room).env("TS_MAXFINISHED", "10");
        command
    }
}

impl Peer for Tsp {
    fn name(&self) -> &'static str {
        "tsp"
    }

    fn add(&self, words: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("-n").args(words); // no file for the output
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

impl Drop for Tsp {
    fn drop(&mut self) {
        let _ = time(self.command().arg("-K"), &[0]);
    }
}
