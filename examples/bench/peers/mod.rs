//! Queues of other people's: what is installed is measured, the rest is named.

mod at;
mod nq;
mod pueue;
mod tsp;

use std::{
    env,
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use nix::{sys::stat::Mode, unistd::mkfifo};

pub use nq::Nq;
pub use tsp::Tsp;

use crate::setup::Setup;

/// A queue for commands.
pub trait Peer {
    fn name(&self) -> &'static str;
    /// The command that queues `words`.
    fn add(&self, words: &[&str]) -> Command;
    /// From now on what is queued has to wait.
    fn hold(&self) -> Result<()>;
    /// It need not wait any more, or is forgotten.
    fn release(&self) -> Result<()>;
    /// Waits until all that was queued has run.
    fn settle(&self) -> Result<()>;
}

/// Those that can be used here, each in a directory of its own below `room`.
pub fn all(room: &Path, setup: &Setup) -> Vec<Box<dyn Peer>> {
    let mut found: Vec<Box<dyn Peer>> = Vec::new();
    let mut take = |name: &str, peer: Result<Box<dyn Peer>>| match peer {
        Ok(peer) => found.push(peer),
        Err(reason) => eprintln!("bench: {name} is left out: {reason:#}"),
    };
    take("tsp", Tsp::new(room, 1).map(|peer| Box::new(peer) as Box<dyn Peer>));
    take("nq", Nq::new(room, "nq").map(|peer| Box::new(peer) as Box<dyn Peer>));
    take("at", at::At::new(room, setup).map(|peer| Box::new(peer) as Box<dyn Peer>));
    if env::var("PEERS").is_ok_and(|peers| peers.contains("pueue")) {
        take("pueue", pueue::Pueue::new(room).map(|peer| Box::new(peer) as Box<dyn Peer>));
    }
    found
}

/// The program's path.
pub fn find(program: &str) -> Result<PathBuf> {
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let found = path.split(':').map(|dir| Path::new(dir).join(program)).find(|path| path.is_file());
    found.with_context(|| format!("{program} is not installed"))
}

/// A job that waits for somebody to open this FIFO for writing.
struct Plug(PathBuf);

impl Plug {
    fn new(room: &Path) -> Result<Self> {
        let path = room.join("plug");
        mkfifo(&path, Mode::from_bits_truncate(0o600)).context("cannot make a FIFO")?;
        Ok(Self(path))
    }

    fn words(&self) -> [&str; 2] {
        ["cat", crate::site::word(&self.0)]
    }

    /// Waits until the job has begun, too.
    fn pull(&self) -> Result<()> {
        OpenOptions::new().write(true).open(&self.0).context("cannot open the plug")?;
        Ok(())
    }
}
