//! What is wrong with a state directory, for `check`. Nothing is opened but directories: closing a database file would
//! drop the locks that `SQLite` holds on it in this process.
//!
//! Finished files in the cache as a restore, or somebody's `chown -R`, can leave them.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use fs2::FileExt;
use nix::{
    fcntl::AtFlags,
    sys::stat::{FchmodatFlags, Mode, fchmodat, fstatat},
    unistd::{Gid, Uid, fchownat},
};

use super::{
    Site,
    dir::{Dir, FileInfo},
    disk,
    layout::{self, Item, TOP_MODE},
    owners::{become_user, group_name, membership, shared_own_group, user_name},
};
use crate::config::Config;

impl Site {
    /// One sentence for each thing that keeps the site from working: file system, kinds, owners, modes.
    pub fn problems(&self, config: &Config) -> Vec<String> {
        let top = match fs::metadata(&self.state_dir) {
            Ok(top) => top,
            Err(error) => return vec![format!("cannot look at {}: {error}", self.state_dir.display())],
        };
        let shelves: Vec<_> = layout::shelves(self, config).into_iter().map(|item| item.path).collect();
        let mut problems = self.disk_problems(&shelves);
        problems.extend(shelves.iter().filter_map(|shelf| self.file_problems(shelf, (top.uid(), top.gid()))));
        if top.mode() & 0o7777 != TOP_MODE {
            problems.push(wrong_mode(&self.state_dir, top.mode() & 0o7777, TOP_MODE, &self.remedy()));
        }
        problems.extend(membership(Uid::from_raw(top.uid()), Gid::from_raw(top.gid())));
        let items = [layout::items(self, config), layout::shelves(self, config)].concat();
        problems.extend(items.iter().flat_map(|item| self.item_problems(item, (top.uid(), top.gid()))));
        let there = layout::companions(self, config).into_iter().filter(|item| item.path.symlink_metadata().is_ok());
        problems.extend(there.flat_map(|item| self.item_problems(&item, (top.uid(), top.gid()))));
        problems
    }

    fn disk_problems(&self, shelves: &[PathBuf]) -> Vec<String> {
        let (work, cache) = (self.work(), self.cache());
        let mut problems: Vec<_> = [self.state_dir.clone(), work.clone(), cache.clone(), self.queue()]
            .iter()
            .filter_map(|dir| disk::refusal(dir).ok().flatten())
            .collect();
        problems.extend(shelves.iter().chain([&cache]).filter_map(|dir| self.unlinkable(dir)));
        problems
    }

    /// Why nothing can be published in this directory. Only its owner can try, and for anybody else the mounts tell.
    fn unlinkable(&self, dir: &Path) -> Option<String> {
        let work = self.work();
        if let Ok(false) = disk::same_filesystem(&work, dir) {
            return Some(format!("{} and {} must lie on one file system", work.display(), dir.display()));
        }
        if disk::are_apart(&work, dir) {
            return Some(disk::apart(&work, dir));
        }
        // What cannot be tried for want of rights is told of by the owners and modes.
        if self.is_owner() { disk::try_link(&work, dir).ok().flatten() } else { None }
    }

    /// Files of the cache that the owner cannot renew or the web server cannot read, as a restore can leave them.
    fn file_problems(&self, shelf: &Path, owner: (u32, u32)) -> Option<String> {
        let wrong = wrong(shelf, owner).ok()?;
        let first = wrong.first()?;
        let (count, first) = (wrong.len(), shelf.join(first));
        let (user, group) = (user_name(Uid::from_raw(owner.0)), group_name(Gid::from_raw(owner.1)));
        let what = if count == 1 { "1 file has".to_owned() } else { format!("{count} files have") };
        Some(format!(
            "{what} the wrong owner or mode in {} ({}, for instance), and should belong to {user}:{group} and be readable \
             by both; {}",
            shelf.display(),
            first.display(),
            self.remedy_by_root()
        ))
    }

    /// Makes the calling process, if it is root's, one of the user who owns the site. `false`: nothing was changed.
    pub fn become_owner(&self) -> io::Result<bool> {
        let about = fs::metadata(&self.state_dir)?;
        if !Uid::effective().is_root() || about.uid() == 0 {
            return Ok(false);
        }
        become_user(Uid::from_raw(about.uid()), Gid::from_raw(about.gid()))?;
        Ok(true)
    }

    /// Why the group of a site that was made without naming one lets in too many. `None`: it does not.
    pub fn group_warning(&self) -> Option<String> {
        let top = fs::metadata(&self.state_dir).ok()?;
        let (group, other) = shared_own_group(Uid::from_raw(top.uid()), Gid::from_raw(top.gid()))?;
        Some(format!(
            "{} is shared with group {group}, which {other} and perhaps others are in as well: they can read and write \
             the queue; name a group that only the web server's user is in, with --group",
            self.state_dir.display()
        ))
    }

    /// Whether the site belongs to the caller.
    pub fn is_owner(&self) -> bool {
        fs::metadata(&self.state_dir).is_ok_and(|about| about.uid() == Uid::effective().as_raw())
    }

    /// Tries two locks on one file: the second must be refused. Tells why the locks cannot be relied on.
    pub fn lock_problem(&self) -> Option<String> {
        let work = self.work();
        let (one, other) = match opened_twice(&work) {
            Ok(pair) => pair,
            Err(error) => return Some(format!("cannot try a lock in {}: {error}; {}", work.display(), self.remedy())),
        };
        let broken = one.try_lock_exclusive().is_err() || other.try_lock_exclusive().is_ok();
        broken.then(|| format!("file locks do not work in {}; use a local file system", work.display()))
    }

    /// The name of the user who owns the site and whose crontab ticks; a number if it has no name.
    pub fn owner(&self) -> io::Result<String> {
        Ok(user_name(Uid::from_raw(fs::metadata(&self.state_dir)?.uid())))
    }

    fn item_problems(&self, item: &Item, owner: (u32, u32)) -> Vec<String> {
        let label = item.path.display();
        match look(&item.path) {
            Ok(Some(about)) if about.kind == item.kind => self.owner_and_mode(item, &about, owner),
            Ok(Some(_)) => {
                vec![format!("{label} is not {}; move it away and {}", layout::word(item.kind), self.remedy())]
            }
            Ok(None) => vec![format!("{label} is missing; {}", self.remedy())],
            // What another user may not look at is his to check; the mode can still be seen.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let mode = fs::symlink_metadata(&item.path).map(|about| about.mode() & 0o7777);
                mode.into_iter()
                    .filter(|mode| *mode != item.mode)
                    .map(|mode| wrong_mode(&item.path, mode, item.mode, &self.remedy()))
                    .collect()
            }
            Err(error) => vec![format!("cannot look at {label}: {error}")],
        }
    }

    fn owner_and_mode(&self, item: &Item, about: &FileInfo, (uid, gid): (u32, u32)) -> Vec<String> {
        let label = item.path.display();
        let mut problems = Vec::new();
        if about.uid != uid && !item.shared {
            let (is, should) = (user_name(Uid::from_raw(about.uid)), user_name(Uid::from_raw(uid)));
            problems.push(format!("{label} belongs to user {is}, not {should}; {}", self.remedy_by_root()));
        }
        if about.gid != gid {
            let (is, should) = (group_name(Gid::from_raw(about.gid)), group_name(Gid::from_raw(gid)));
            problems.push(format!("{label} belongs to group {is}, not {should}; {}", self.remedy_by_root()));
        }
        if about.mode != item.mode {
            problems.push(wrong_mode(&item.path, about.mode, item.mode, &self.remedy()));
        }
        problems
    }
}

/// One file, opened twice; its name is gone already.
fn opened_twice(dir: &Path) -> io::Result<(File, File)> {
    let path = dir.join(format!(".lock-{}", std::process::id()));
    let one = File::create_new(&path)?;
    let other = File::open(&path);
    fs::remove_file(&path)?;
    Ok((one, other?))
}

fn look(path: &Path) -> io::Result<Option<FileInfo>> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Dir::locate(parent)?.about(name),
        _ => Ok(None),
    }
}

pub(super) fn wrong_mode(path: &Path, is: u32, should: u32, remedy: &str) -> String {
    format!("{} has mode {is:04o}, not {should:04o}; {remedy}", path.display())
}

/// The mode of a finished file.
const MODE: u32 = 0o440;

/// Names in an exporter's directory of the cache of files that do not belong to its owner and group, or that one of them
/// cannot read.
pub(super) fn wrong(shelf: &Path, owner: (u32, u32)) -> io::Result<Vec<OsString>> {
    wrong_in(&Dir::open_real(shelf)?, owner)
}

/// Puts them right; the result is how many there were. What has another name outside is left alone: root would give away
/// whatever somebody has linked there.
pub(super) fn put_right(shelf: &Path, owner: (u32, u32)) -> io::Result<usize> {
    let dir = Dir::open_real(shelf)?;
    let mut done = 0;
    for name in wrong_in(&dir, owner)? {
        if fstatat(&dir, &*name, AtFlags::AT_SYMLINK_NOFOLLOW)?.st_nlink > 1 {
            continue;
        }
        let (uid, gid) = (Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1)));
        fchownat(&dir, &*name, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        fchmodat(&dir, &*name, Mode::from_bits_truncate(MODE), FchmodatFlags::NoFollowSymlink)?;
        done += 1;
    }
    Ok(done)
}

fn wrong_in(dir: &Dir, owner: (u32, u32)) -> io::Result<Vec<OsString>> {
    let mut names = dir.names(usize::MAX)?;
    names
        .retain(|name| !is_hidden(name) && dir.about(name).ok().flatten().is_some_and(|about| is_wrong(&about, owner)));
    names.sort_unstable();
    Ok(names)
}

/// Temporary names are swept with their attempt.
fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

fn is_wrong(about: &FileInfo, (uid, gid): (u32, u32)) -> bool {
    about.is_file() && (about.uid != uid || about.gid != gid || about.mode & MODE != MODE)
}
