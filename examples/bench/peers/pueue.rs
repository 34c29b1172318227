//! pueue: a daemon that keeps its state in one file. Only on request (`PEERS=pueue`), since building it takes minutes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use super::{Peer, find};
use crate::process::{Beside, bare, time, wait_until};

pub struct Pueue {
    program: PathBuf,
    config: PathBuf,
    _daemon: Beside,
}

impl Pueue {
    pub fn new(room: &Path) -> Result<Self> {
        let room = room.join("pueue");
        fs::create_dir(&room)?;
        let config = room.join("pueue.yml");
        let at = room.display();
        let text = format!(
            "shared:\n  pueue_directory: {at}\n  runtime_directory: {at}\n  use_unix_socket: true\n\
             \x20 unix_socket_path: {at}/socket\nclient: {{}}\ndaemon: {{}}\n"
        );
        fs::write(&config, text)?;
        let daemon = Beside::start(bare(find("pueued")?).env("HOME", &room).arg("-c").arg(&config))?;
        let pueue = Self { program: find("pueue")?, config, _daemon: daemon };
        wait_until("pueued answers", || time(pueue.command().arg("status"), &[0]).is_ok())?;
        Ok(pueue)
    }

    fn command(&self) -> Command {
        let mut command = bare(&self.program);
        command.env("HOME", self.config.parent().unwrap_or(Path::new("/"))).arg("-c").arg(&self.config);
        command
    }
}

impl Peer for Pueue {
    fn name(&self) -> &'static str {
        "pueue"
    }

    fn add(&self, words: &[&str]) -> Command {
        let mut command = self.command();
        command.args(["add", "--"]).args(words);
        command
    }

    fn hold(&self) -> Result<()> {
        time(self.command().arg("pause"), &[0]).map(drop)
    }

    fn release(&self) -> Result<()> {
        time(self.command().arg("start"), &[0])?;
        self.settle()
    }

    fn settle(&self) -> Result<()> {
        time(self.command().args(["wait", "--quiet"]), &[0]).map(drop)
    }
}
