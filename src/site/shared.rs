//! Files of `queue/` that are made at run time by whichever user of the group comes first, and that all of them use.
//!
//! What lies in `queue/` may come from the web user: nothing that it contains is read.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use nix::sys::{stat::futimens, time::TimeSpec};

use super::{Site, dir::open_regular};

/// All users of the group read and write it, whatever the umask of the one who made it.
pub(super) const MODE: u32 = 0o660;
/// A visitor without a name is noted at most so often.
const NOTED_EVERY: Duration = Duration::from_hours(1);

/// Opens a file that all users of the group share; makes it if it is missing.
pub fn open_shared(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    let file = open_regular(path, how.read(true).write(true).create(true).truncate(false).mode(MODE))?;
    if file.metadata()?.mode() & 0o7777 != MODE {
        // Only its owner may; for anybody else who could open it the mode is good enough.
        let _ = file.set_permissions(Permissions::from_mode(MODE));
    }
    Ok(file)
}

impl Site {
    /// Each waiting visitor locks a byte of it.
    pub fn waiters(&self) -> PathBuf {
        self.queue().join("waiters")
    }

    /// Its modification time is the last moment at which a visitor came without the variable that `http.client` names.
    pub fn unnamed(&self) -> PathBuf {
        self.queue().join("unnamed")
    }

    /// Notes that a visitor came without a name, for `status` to tell. `false`: that was noted a short while ago.
    pub fn note_unnamed(&self) -> io::Result<bool> {
        if self.unnamed_since().is_some_and(|ago| ago < NOTED_EVERY) {
            return Ok(false);
        }
        let file = open_shared(&self.unnamed())?;
        // Only its owner may set another time than now.
        futimens(&file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW)?;
        Ok(true)
    }

    /// How long ago a visitor without a name was last noted. `None`: never.
    pub fn unnamed_since(&self) -> Option<Duration> {
        let about = fs::symlink_metadata(self.unnamed()).ok().filter(fs::Metadata::is_file)?;
        Some(SystemTime::now().duration_since(about.modified().ok()?).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_a_regular_file_of_the_right_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("waiters");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        open_shared(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, MODE);
        let (link, fifo) = (dir.path().join("link"), dir.path().join("fifo"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open_shared(&link).is_err() && open_shared(&fifo).is_err() && open_shared(dir.path()).is_err());
    }

    #[test]
    fn a_visitor_without_a_name_is_noted_once_an_hour() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("queue")).unwrap();
        let site = Site::new(dir.path().to_owned());
        assert_eq!(site.unnamed_since(), None);
        assert!(site.note_unnamed().unwrap());
        assert!(site.unnamed_since().unwrap() < NOTED_EVERY && !site.note_unnamed().unwrap());
        File::open(site.unnamed()).unwrap().set_modified(SystemTime::now() - NOTED_EVERY * 2).unwrap();
        assert!(site.note_unnamed().unwrap());
    }
}
