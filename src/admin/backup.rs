//! `pressroom backup`: one state of the database in one file, while everything runs.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use nix::unistd::Uid;

use crate::{
    cli::{BackupArgs, Global},
    context::Context,
    exit::{Exit, Failure},
    model::format,
    site::Site,
    store::{Holdings, Store},
};

/// Writes the file beside its place, and gives it its name when it is whole and on the disk.
pub fn run(global: &Global, args: &BackupArgs) -> Result<(), Failure> {
    let context = Context::load(global)?;
    Site::open(&context.config).map_err(anyhow::Error::from)?;
    refuse_root(&context)?;
    let store = context.open_store()?;
    let file = &args.file;
    refuse_place(&context, file, args.force)?;
    let temp = UnfinishedBackup::make(file)?;
    let what = || format!("cannot write {}", file.display());
    store.copy_to(&temp.0).with_context(what)?;
    let holds = verify(&temp.0).with_context(what)?;
    fs::rename(&temp.0, file).with_context(what)?;
    File::open(parent(file)).and_then(|dir| dir.sync_all()).with_context(what)?;
    let size = fs::metadata(file).map_or(0, |about| about.len());
    println!("saved {}: {}, {}", file.display(), in_words(&holds), format::bytes(size));
    Ok(())
}

/// What is no earlier backup is never replaced: neither a device nor what ticks work with.
fn refuse_place(context: &Context, file: &Path, force: bool) -> Result<(), Failure> {
    let bad = |what: String| Err(Failure::because(Exit::BadValue, format!("{} {what}", file.display())));
    let dirs = [Some(context.site.state_dir()), context.config.database.parent()];
    let own = dirs.into_iter().flatten().filter_map(|dir| fs::canonicalize(dir).ok());
    let place = fs::canonicalize(parent(file)).unwrap_or_default();
    if let Some(dir) = own.into_iter().find(|dir| place.starts_with(dir)) {
        return bad(format!("is inside {}, which is Pressroom's own; save the backup elsewhere", dir.display()));
    }
    match fs::symlink_metadata(file) {
        Ok(there) if !there.is_file() => bad("is there already and is not a regular file".into()),
        Ok(_) if !force => bad("is there already; give --force to replace it".into()),
        _ => Ok(()),
    }
}

/// A database that root has opened could not be written by anybody else.
pub fn refuse_root(context: &Context) -> Result<(), Failure> {
    if !Uid::effective().is_root() || context.site.is_owner() {
        return Ok(());
    }
    let owner = context.site.owner().unwrap_or_default();
    Err(Failure::because(Exit::Config, format!("the site belongs to {owner}; run this as {owner}")))
}

pub fn in_words(holds: &Holdings) -> String {
    format!("{}, {} of the history", format::count(holds.jobs, "job"), format::count(holds.attempts, "attempt"))
}

fn verify(file: &Path) -> anyhow::Result<Holdings> {
    let copy = Store::open_readonly(file)?;
    match copy.fault()? {
        Some(fault) => anyhow::bail!("the copy is damaged ({fault}), so the database is: run `pressroom check`"),
        None => Ok(copy.view().holdings()?),
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// A file that is removed unless it was renamed. It holds the key of the clients' hashes, so nobody else reads it.
struct UnfinishedBackup(PathBuf);

impl UnfinishedBackup {
    fn make(file: &Path) -> Result<Self, Failure> {
        let Some(name) = file.file_name() else {
            return Err(Failure::because(Exit::BadValue, format!("{} is not the name of a file", file.display())));
        };
        let temp = parent(file).join(format!(".{}.{}", name.display(), std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp);
        made.with_context(|| format!("cannot make {}", temp.display()))?;
        Ok(Self(temp))
    }
}

impl Drop for UnfinishedBackup {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0); // it is gone if all went well
    }
}
