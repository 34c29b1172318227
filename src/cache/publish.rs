//! Publishing: a file is made complete first, and gets its name in one step.
//!
//! `prepare` may take long and holds nothing; `publish` is short, since it runs inside the transaction that guards it.
//! The work directory keeps the first link of the published inode, which is how reap tells whose file it is. From
//! `prepare` on nothing may change the file through the work directory.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags, renameat},
    sys::stat::{FchmodatFlags, Mode, fchmodat},
    unistd::{Gid, fchown, linkat},
};

use super::{Cache, accept, names};
use crate::{
    model::{clock::Stamp, failpoint, job::AttemptId},
    site::{self, dir::Dir},
};

/// The mode of a finished file: nobody writes to it any more.
const FILE_MODE: u32 = 0o440;
/// Setgid, so that what is made below belongs to the group that the web user is in.
const DIR_MODE: u32 = 0o2750;
/// What of it cannot be missing; more may be allowed by the admin.
const NEEDED: u32 = 0o2050;

/// A complete file, synced, with its final mode, group and time, not yet in the cache.
#[derive(Debug)]
pub struct Prepared {
    out: PathBuf,
    cache: Cache,
    /// Kept open, so that its inode cannot be given to another file.
    file: File,
}

/// Makes the output ready for `publish`. One that has further names, or that somebody may still write to, is copied
/// first, so that nobody else can change it.
pub fn prepare(
    out: &Path,
    cache: &Cache,
    now: Stamp,
    may_be_written: impl FnOnce(&File) -> bool,
) -> io::Result<Prepared> {
    let mut file = accept::open(out)?;
    give_to_group(&file, cache)?;
    // Before the question who has it open: nobody may open it for writing after that.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    if file.metadata()?.nlink() > 1 || may_be_written(&file) {
        file = copy_in_place(file, out)?;
        give_to_group(&file, cache)?;
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    file.set_modified(now.system_time())?;
    file.sync_all()?;
    Ok(Prepared { out: out.to_owned(), cache: cache.clone(), file })
}

/// Before the mode is set, so that no other group can read it in between.
fn give_to_group(file: &File, cache: &Cache) -> io::Result<()> {
    let group = fs::symlink_metadata(cache.dir())?.gid();
    if file.metadata()?.gid() == group {
        return Ok(());
    }
    fchown(file, None, Some(Gid::from_raw(group))).map_err(|errno| {
        let why = format!("cannot give the output to the group of cache/ ({group}): {}", errno.desc());
        io::Error::new(io::Error::from(errno).kind(), why)
    })
}

/// Puts a copy with a single name, which nobody has open, in the place of the output.
fn copy_in_place(mut from: File, out: &Path) -> io::Result<File> {
    let aside = out.with_file_name(".pressroom-copy");
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut to = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&aside)?;
    io::copy(&mut from, &mut to)?;
    fs::rename(&aside, out)?;
    Ok(to)
}

impl Prepared {
    /// Gives the file its name in the cache and syncs the directory. Doing it again changes nothing.
    pub fn publish(&self, filename: &str, attempt: &AttemptId) -> io::Result<()> {
        let (exporter, name) = names::split(filename)?;
        let dir = self.cache.make_exporter_dir(exporter)?;
        if !self.is_at(&dir, name)? {
            let temp = temp_name(attempt);
            self.link(&dir, &temp).map_err(|error| self.apart(exporter, blocked(filename, error)))?;
            failpoint::at("run-linked");
            renameat(&dir, temp.as_os_str(), &dir, name).map_err(|errno| blocked(filename, errno.into()))?;
        }
        dir.sync()
    }

    /// Links the prepared file into the directory, in the place of what an earlier try has left there.
    fn link(&self, dir: &Dir, temp: &OsStr) -> io::Result<()> {
        dir.unlink(temp)?;
        linkat(AT_FDCWD, &self.out, dir, temp, AtFlags::empty())?;
        if self.is_at(dir, temp)? {
            return Ok(());
        }
        dir.unlink(temp)?;
        Err(io::Error::other("the output was replaced after it had been checked"))
    }

    /// Two mounts of one disk are two for a link.
    fn apart(&self, exporter: &str, error: io::Error) -> io::Error {
        let work = self.out.parent().unwrap_or(&self.out);
        match error.kind() {
            ErrorKind::CrossesDevices => {
                io::Error::new(error.kind(), site::apart(work, &self.cache.dir().join(exporter)))
            }
            _ => error,
        }
    }

    fn is_at(&self, dir: &Dir, name: &OsStr) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        Ok(dir.about(name)?.is_some_and(|there| there.inode == ours.ino() && there.device == ours.dev()))
    }
}

/// With the name, by which the admin finds what is in the way.
fn blocked(filename: &str, error: io::Error) -> io::Error {
    let why = match error.kind() {
        ErrorKind::IsADirectory => format!("cache/{filename} is a directory; move it away"),
        ErrorKind::PermissionDenied => {
            format!("cache/{filename} cannot be written: permission denied; run `pressroom check --create`")
        }
        _ => return error,
    };
    io::Error::new(error.kind(), why)
}

/// Beside the final name, and in no reader's way: a finished file never begins with a dot.
fn temp_name(attempt: &AttemptId) -> OsString {
    OsString::from(format!(".{attempt}"))
}

impl Cache {
    /// Whether the file of this name is the one that lies at `out`: reap's question about an attempt that died.
    /// What cannot be looked at is an error: it may well be there.
    pub fn published(&self, out: &Path, filename: &str) -> io::Result<bool> {
        let look = |path: &Path| match fs::symlink_metadata(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            looked => looked.map(|meta| Some(meta).filter(Metadata::is_file)),
        };
        let (made, cached) = (look(out)?, look(&self.path(filename))?);
        Ok(made.zip(cached).is_some_and(|(made, cached)| made.ino() == cached.ino() && made.dev() == cached.dev()))
    }

    /// Removes the name that `attempt` may have left beside the final one. Its absence is success.
    pub fn remove_temp(&self, exporter: &str, attempt: &AttemptId) -> io::Result<()> {
        let temp = temp_name(attempt);
        self.exporter_dir(exporter)?.map_or(Ok(()), |dir| dir.unlink(&temp).map(drop))
    }

    fn make_exporter_dir(&self, exporter: &str) -> io::Result<Dir> {
        let (cache, name) = (Dir::open_real(self.dir())?, OsStr::new(exporter));
        cache.make(name)?;
        // Not only when it is new: whoever made it may have died before the next step.
        if cache.about(name)?.is_some_and(|about| about.is_dir() && about.mode & NEEDED != NEEDED) {
            let mode = Mode::from_bits_truncate(DIR_MODE);
            fchmodat(&cache, name, mode, FchmodatFlags::NoFollowSymlink)?;
            cache.sync()?;
        }
        cache.enter(name).map_err(|error| match Errno::try_from(error) {
            Ok(Errno::ELOOP | Errno::ENOTDIR) => {
                io::Error::other(format!("cache/{exporter} is not a directory; move it away"))
            }
            Ok(errno) => errno.into(),
            Err(error) => error,
        })
    }
}
