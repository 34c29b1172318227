//! What keeps ticks from starting anything, as the last of them has met it: for `status`, since cron's mail may go to
//! another one than who looks.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::PathBuf,
};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::Site;

/// Bytes of the sentence that are read.
const MOST: u64 = 4096;

impl Site {
    fn refused(&self) -> PathBuf {
        self.state_dir().join("tick.refused")
    }

    /// Nothing can be started, for this reason; `None`: that is over. Whoever is in the group may read it.
    pub fn note_refused(&self, why: Option<&str>) -> io::Result<()> {
        let Some(why) = why else {
            let removed = fs::remove_file(self.refused());
            return removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) });
        };
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(true).mode(0o640).custom_flags(O_NOFOLLOW | O_NONBLOCK);
        let mut file = how.open(self.refused())?;
        file.set_permissions(Permissions::from_mode(0o640))?; // whatever the umask is
        file.write_all(why.as_bytes())
    }

    /// Why the last round could start nothing.
    pub fn noted_refused(&self) -> Option<String> {
        let mut how = OpenOptions::new();
        let file = how.read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(self.refused()).ok()?;
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).ok()?;
        Some(text).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::Site;

    #[test]
    fn it_is_noted_until_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(dir.path().to_owned());
        assert_eq!(site.noted_refused(), None);
        site.note_refused(Some("too many processes; and a long reason")).unwrap();
        site.note_refused(Some("memory is short")).unwrap();
        assert_eq!(site.noted_refused().as_deref(), Some("memory is short"));
        site.note_refused(None).unwrap();
        site.note_refused(None).unwrap();
        assert_eq!(site.noted_refused(), None);
    }
}
