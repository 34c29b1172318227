//! Where everything is, and how long to measure. `bench/run` sets the variables.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

pub struct Setup {
    /// `BENCH_PRESSROOM`: the program, built as `make build` does.
    pub pressroom: PathBuf,
    /// `BENCH_INSERT`: the example `insert`, built likewise.
    pub insert: PathBuf,
    /// `BENCH_FLOORS`: the directory of the C programs of bench/.
    floors: PathBuf,
    /// `BENCH_OUT`: where the results go.
    pub out: PathBuf,
    /// `BENCH=quick`.
    pub quick: bool,
    /// `BENCH_ONLY`: names of measures; empty for all.
    only: String,
    dir: TempDir,
}

impl Setup {
    pub fn from_env() -> Result<Self> {
        Ok(Self {
            pressroom: path("BENCH_PRESSROOM")?,
            insert: path("BENCH_INSERT")?,
            floors: path("BENCH_FLOORS")?,
            out: path("BENCH_OUT")?,
            quick: env::var("BENCH").is_ok_and(|word| word == "quick"),
            only: env::var("BENCH_ONLY").unwrap_or_default(),
            dir: directory()?,
        })
    }

    pub fn wants(&self, measure: &str) -> bool {
        self.only.is_empty() || self.only.split([',', ' ']).any(|word| word == measure)
    }

    /// A number for the full bench, another for the quick one.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    pub fn floor(&self, name: &str) -> PathBuf {
        self.floors.join(name)
    }

    /// A new directory for one measurement, on the disk that is measured.
    pub fn room(&self, name: &str) -> Result<PathBuf> {
        let room = self.dir.path().join(name);
        fs::create_dir(&room).with_context(|| format!("cannot make {}", room.display()))?;
        Ok(room)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

fn path(variable: &str) -> Result<PathBuf> {
    let value = env::var_os(variable).with_context(|| format!("{variable} is not set; run `make bench`"))?;
    std::path::absolute(value).with_context(|| format!("{variable} is no path"))
}

/// Below `BENCH_DIR`, by default /var/tmp: on a real disk, since /tmp may be memory, and open to web servers' users.
fn directory() -> Result<TempDir> {
    let parent = env::var_os("BENCH_DIR").unwrap_or_else(|| "/var/tmp".into());
    let dir = tempfile::Builder::new().prefix("prb").tempdir_in(parent).context("cannot make a directory")?;
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
    Ok(dir)
}
