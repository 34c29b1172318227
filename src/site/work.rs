//! The work directory of one attempt, and what attempts have left in `work/` and `log/`.
//!
//! An exporter can leave anything in it: directories of mode 000, links to places that are not ours, trees deeper than
//! any path may be. Removing it needs three open directories at most, however deep the tree: a directory two levels
//! down is first moved up into the work directory itself. Where a mount begins the work directory ends: nothing in it is
//! ours, and it stays with what it is mounted on.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, Permissions},
    io::{self, ErrorKind, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::renameat,
    sys::stat::{FchmodatFlags, Mode, fchmodat},
};

use super::{Site, dir::Dir, lock::absent_is_fine};
use crate::model::job::AttemptId;

/// Names handled at once: a directory with millions of them must not fill our memory.
const BATCH: usize = 4096;

impl Site {
    /// Makes the work directory of `attempt`, for its owner alone. It must not exist yet.
    pub fn make_work(&self, attempt: &AttemptId) -> io::Result<PathBuf> {
        let path = self.work_of(attempt);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        Ok(path)
    }

    /// Whether the attempt has a work directory of ours.
    pub fn has_work(&self, attempt: &AttemptId) -> bool {
        fs::symlink_metadata(self.work_of(attempt)).is_ok_and(|about| about.is_dir())
    }

    /// Removes the work directory with all that is in it, whatever its modes and depth. No link is followed.
    /// Its absence is success.
    pub fn remove_work(&self, attempt: &AttemptId) -> io::Result<()> {
        let name = OsStr::new(&**attempt);
        let work = match Dir::open_real(&self.work()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        match work.about(name)? {
            None => Ok(()),
            Some(about) if about.is_dir() => {
                let mount = work.mount()?;
                Clearing { root: open_up(&work, name, mount)?, mount, moved: 0 }.and_remove(&work, name)
            }
            Some(_) => work.unlink(name).map(drop),
        }
    }
}

/// A work directory on its way out.
struct Clearing {
    root: Dir,
    /// The one that `work/` is on.
    mount: u64,
    moved: u64,
}

impl Clearing {
    fn and_remove(mut self, work: &Dir, name: &OsStr) -> io::Result<()> {
        loop {
            let names = self.root.names(BATCH)?;
            if names.is_empty() {
                return work.remove_dir(name).map(drop);
            }
            for name in names {
                self.clear(&name)?;
            }
        }
    }

    /// Removes one name of the root; directories in a directory become names of the root.
    fn clear(&mut self, name: &OsStr) -> io::Result<()> {
        if !self.root.about(name)?.is_some_and(|about| about.is_dir()) {
            return self.root.unlink(name).map(drop).map_err(|error| said(name, error));
        }
        let dir = open_up(&self.root, name, self.mount)?;
        loop {
            let children = dir.names(BATCH)?;
            if children.is_empty() {
                return self.root.remove_dir(name).map(drop);
            }
            for child in children {
                self.clear_child(&dir, &child)?;
            }
        }
    }

    fn clear_child(&mut self, dir: &Dir, child: &OsStr) -> io::Result<()> {
        if !dir.about(child)?.is_some_and(|about| about.is_dir()) {
            return dir.unlink(child).map(drop).map_err(|error| said(child, error));
        }
        // Moving a directory changes its "..", which needs the right to write into it.
        open_up(dir, child, self.mount)?;
        loop {
            self.moved += 1;
            let place = OsString::from(format!("moved-{}", self.moved));
            match renameat(dir, child, &self.root, place.as_os_str()) {
                Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR) => {}
                moved => return Ok(moved?),
            }
        }
    }
}

/// Opens a directory whatever its mode, which becomes 0700, unless it lies on another mount: a bind mount of the same
/// file system would have the same device.
fn open_up(parent: &Dir, name: &OsStr, mount: u64) -> io::Result<Dir> {
    if parent.locate_in(name)?.mount()? != mount {
        return Err(is_mount(name));
    }
    fchmodat(parent, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?;
    parent.enter(name)
}

fn is_mount(name: &OsStr) -> io::Error {
    io::Error::other(format!("{:?} in it is a mount point; unmount it", name.display().to_string()))
}

/// A file can be a mount point as well.
fn said(name: &OsStr, error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::ResourceBusy { is_mount(name) } else { error }
}

impl Site {
    /// The ids that have a work directory or a lock, in order. Names that are not ours are passed over.
    pub fn attempts_on_disk(&self) -> io::Result<Vec<AttemptId>> {
        ids(&self.work(), |name| Some(name.strip_suffix(".lock").unwrap_or(name)))
    }

    /// What an attempt has written. `None`: it is not kept. Only a regular file of our own is read, and no link followed.
    pub fn read_log(&self, attempt: &AttemptId) -> io::Result<Option<Vec<u8>>> {
        let mut log = match self.open_own(&self.log_of(attempt)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut text = Vec::new();
        log.read_to_end(&mut text)?;
        Ok(Some(text))
    }

    /// Removes an attempt's log. Its absence is success.
    pub fn remove_log(&self, attempt: &AttemptId) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.log_of(attempt)))
    }
}

fn ids(dir: &Path, id: impl Fn(&str) -> Option<&str>) -> io::Result<Vec<AttemptId>> {
    let names = Dir::open_real(dir)?.names(usize::MAX)?;
    let ids = names.iter().filter_map(|name| AttemptId::parse(id(name.to_str()?)?));
    Ok(ids.collect::<BTreeSet<_>>().into_iter().collect())
}
