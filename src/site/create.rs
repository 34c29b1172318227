//! Making a state directory, and putting right the owners and modes of one that is there.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use anyhow::{Context as _, bail};
use nix::{
    fcntl::AtFlags,
    sys::stat::{FchmodatFlags, Mode, fchmodat},
    unistd::{fchownat, mkfifoat},
};

use super::{
    Site,
    dir::{Dir, FileInfo, FileKind},
    disk, inspect,
    layout::{self, Item, TOP_MODE},
    owners::Owners,
};
use crate::config::Config;

impl Site {
    /// Makes everything a site consists of but the content of the database, whatever the umask; tells what it did.
    /// Done again it does nothing. `user` and `group` are names or numbers, by default those of an existing site or
    /// the caller's; another `user` needs root.
    pub fn create(config: &Config, user: Option<&str>, group: Option<&str>) -> anyhow::Result<Vec<String>> {
        let site = Self::of(config);
        let existing = fs::metadata(site.marker()).and_then(|_| fs::metadata(&site.state_dir)).ok();
        let owners = Owners::resolve(user, group, existing.map(|about| (about.uid(), about.gid())))?;
        let mut maker = Maker { owners, done: Vec::new() };
        maker.state_dir(&site)?;
        for item in layout::items(&site, config).into_iter().chain(layout::shelves(&site, config)) {
            maker.item(&item)?;
        }
        for item in layout::companions(&site, config) {
            maker.companion(&item)?;
        }
        for item in layout::shelves(&site, config) {
            maker.files(&item.path)?;
        }
        try_out(&site, config)?;
        Ok(maker.done)
    }
}

struct Maker {
    owners: Owners,
    done: Vec<String>,
}

impl Maker {
    fn state_dir(&mut self, site: &Site) -> anyhow::Result<()> {
        let path = site.state_dir();
        refuse_disk(path)?;
        self.parents(path)?;
        let made = make_top(path).with_context(|| format!("cannot make {}", path.display()))?;
        let dir = Dir::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let is_new = layout::claim(&dir, &path.display().to_string())?;
        refuse_disk(path)?;
        self.settle_top(path, made)?;
        self.settle(&dir, OsStr::new(layout::MARKER), &layout::marker(site), is_new)
    }

    /// Makes the directories above, which everybody may pass through.
    fn parents(&mut self, path: &Path) -> anyhow::Result<()> {
        let Some(parent) = path.parent().filter(|parent| !parent.exists()) else { return Ok(()) };
        self.parents(parent)?;
        let made = fs::create_dir(parent).and_then(|()| fs::set_permissions(parent, Permissions::from_mode(0o755)));
        made.with_context(|| format!("cannot make {}", parent.display()))?;
        self.done.push(format!("made {} (0755)", parent.display()));
        Ok(())
    }

    /// The state directory may be named through a link; what it leads to is what belongs to the site.
    fn settle_top(&mut self, path: &Path, made: bool) -> anyhow::Result<()> {
        let path = fs::canonicalize(path)?;
        let item = Item { path, kind: FileKind::Directory, mode: TOP_MODE, shared: false };
        let (parent, name) = place(&item.path)?;
        self.settle(&parent, name, &item, made)
    }

    fn item(&mut self, item: &Item) -> anyhow::Result<()> {
        let (parent, name) = place(&item.path)?;
        let made = match parent.about(name)? {
            Some(about) if about.kind == item.kind => false,
            Some(_) => bail!("{} is not {}; move it away", item.path.display(), layout::word(item.kind)),
            None => {
                make(&parent, name, item).with_context(|| format!("cannot make {}", item.path.display()))?;
                true
            }
        };
        self.settle(&parent, name, item, made)
    }

    /// Files that come and go with the database are only put right.
    fn companion(&mut self, item: &Item) -> anyhow::Result<()> {
        let (parent, name) = place(&item.path)?;
        match parent.about(name)? {
            Some(about) if about.kind == item.kind => self.settle(&parent, name, item, false),
            _ => Ok(()),
        }
    }

    /// Puts right what lies in an exporter's directory of the cache.
    fn files(&mut self, shelf: &Path) -> anyhow::Result<()> {
        let done = inspect::put_right(shelf, (self.owners.uid.as_raw(), self.owners.gid.as_raw()));
        let done =
            done.with_context(|| format!("cannot give the files in {} to {}", shelf.display(), self.owners.text()))?;
        if done > 0 {
            let what = if done == 1 { "1 file".to_owned() } else { format!("{done} files") };
            self.done.push(format!("corrected {what} in {} ({})", shelf.display(), self.owners.text()));
        }
        Ok(())
    }

    /// Gives the item its owner and mode, in this order: a change of owner takes the setgid bit away.
    fn settle(&mut self, parent: &Dir, name: &OsStr, item: &Item, made: bool) -> anyhow::Result<()> {
        let owned = self.own(parent, name, item, made);
        let label = item.path.display();
        let owned = owned.with_context(|| format!("cannot give {label} to {}", self.owners.text()))?;
        let moded = set_mode(parent, name, item)?;
        let what = format!("{label} ({:04o}, {})", item.mode, self.owners.text());
        match (made, owned || moded) {
            (true, _) => self.done.push(format!("made {what}")),
            (false, true) => self.done.push(format!("corrected {what}")),
            (false, false) => {}
        }
        Ok(())
    }

    /// Changes the owner where it is wrong; tells whether it was.
    fn own(&self, parent: &Dir, name: &OsStr, item: &Item, made: bool) -> anyhow::Result<bool> {
        let about = look(parent, name, item)?;
        let uid = ((made || !item.shared) && about.uid != self.owners.uid.as_raw()).then_some(self.owners.uid);
        let gid = (about.gid != self.owners.gid.as_raw()).then_some(self.owners.gid);
        if uid.is_some() || gid.is_some() {
            fchownat(parent, name, uid, gid, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        }
        Ok(uid.is_some() || gid.is_some())
    }
}

/// Sets the mode where it is wrong; tells whether it was.
fn set_mode(parent: &Dir, name: &OsStr, item: &Item) -> anyhow::Result<bool> {
    if look(parent, name, item)?.mode == item.mode {
        return Ok(false);
    }
    let (label, mode) = (item.path.display(), Mode::from_bits_truncate(item.mode));
    fchmodat(parent, name, mode, FchmodatFlags::NoFollowSymlink)
        .with_context(|| format!("cannot set the mode of {label} to {:04o}", item.mode))?;
    // The kernel drops the setgid bit without an error if the caller is not in the group.
    if look(parent, name, item)?.mode != item.mode {
        bail!("{label} does not keep mode {:04o}; log in again if you have just joined its group", item.mode);
    }
    Ok(true)
}

/// Makes the state directory, for its owner alone to begin with. `false`: it is there.
fn make_top(path: &Path) -> io::Result<bool> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        made => made.and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o700))).map(|()| true),
    }
}

/// Tries what no look at owners and modes can tell.
fn try_out(site: &Site, config: &Config) -> anyhow::Result<()> {
    let shelves = layout::shelves(site, config).into_iter().map(|item| item.path);
    for dir in [site.cache()].into_iter().chain(shelves) {
        let tried = disk::try_link(&site.work(), &dir);
        if let Some(problem) = tried.with_context(|| format!("cannot try out {}", dir.display()))? {
            bail!(problem);
        }
    }
    Ok(())
}

fn make(parent: &Dir, name: &OsStr, item: &Item) -> anyhow::Result<()> {
    match item.kind {
        FileKind::Directory => parent.make(name).map(drop)?,
        FileKind::Fifo => mkfifoat(parent, name, Mode::S_IRUSR | Mode::S_IWUSR)?,
        _ => {
            let file = parent.make_file(name)?;
            if name == "reserve" {
                disk::fill(&file)?;
            }
        }
    }
    Ok(())
}

fn look(parent: &Dir, name: &OsStr, item: &Item) -> anyhow::Result<FileInfo> {
    parent.about(name)?.with_context(|| format!("{} has disappeared", item.path.display()))
}

/// The open directory that an item lies in, and its name there.
fn place(path: &Path) -> anyhow::Result<(Dir, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        bail!("{} cannot be part of a state directory", path.display());
    };
    let dir = Dir::locate(parent).with_context(|| format!("cannot open {}", parent.display()))?;
    Ok((dir, name))
}

/// Looks at the nearest directory that is there, so that nothing is made where it cannot stay.
fn refuse_disk(path: &Path) -> anyhow::Result<()> {
    let Some(there) = path.ancestors().find(|path| path.is_dir()) else { return Ok(()) };
    match disk::refusal(there).with_context(|| format!("cannot look at {}", there.display()))? {
        Some(why) => bail!(why),
        None => Ok(()),
    }
}
