//! The marker that makes a directory ours. It is written into an empty directory only, before anything else.

use std::{
    ffi::OsStr,
    io::{Read, Write},
};

use anyhow::{Context as _, bail};

use super::dir::Dir;

pub(super) const MARKER: &str = ".pressroom";
const TEXT: &str = "pressroom state directory, version 1\n";

/// Makes sure that the directory carries the marker, or refuses it. `true`: the marker is new.
pub(super) fn claim(dir: &Dir, label: &str) -> anyhow::Result<bool> {
    match dir.about(OsStr::new(MARKER))? {
        Some(about) if about.is_file() => check(dir, label).map(|()| false),
        Some(_) => bail!("{label}/{MARKER} is not a regular file; choose another state_dir"),
        None => {
            refuse_foreign(dir, label)?;
            let mut marker = dir.make_file(OsStr::new(MARKER)).with_context(|| format!("cannot make {label}/{MARKER}"))?;
            marker.write_all(TEXT.as_bytes())?;
            marker.sync_all()?;
            Ok(true)
        }
    }
}

/// An empty marker is one that was being written when the machine stopped.
fn check(dir: &Dir, label: &str) -> anyhow::Result<()> {
    let mut text = Vec::new();
    dir.read(OsStr::new(MARKER))?.take(1024).read_to_end(&mut text)?;
    if text.is_empty() || text.starts_with(b"pressroom state directory") {
        return Ok(());
    }
    bail!("{label}/{MARKER} was not written by pressroom; choose another state_dir")
}

fn refuse_foreign(dir: &Dir, label: &str) -> anyhow::Result<()> {
    // A file system of its own comes with lost+found.
    match dir.names(2)?.iter().find(|name| *name != "lost+found") {
        None => Ok(()),
        Some(name) => bail!(
            "{label} is not a state directory and not empty (it has {}); choose another state_dir",
            name.to_string_lossy()
        ),
    }
}
