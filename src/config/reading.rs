//! The configuration file on the disk: its text, and which state of which file that was.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
};

use super::ConfigError;

/// Whatever replaces or changes the file changes this, since nobody can set its `ctime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    /// Of no file.
    pub const fn none() -> Self {
        Self { device: 0, inode: 0, size: 0, modified: (0, 0), changed: (0, 0) }
    }

    /// Of the file that is there now; costs one look.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs::metadata(path)?))
    }
}

impl From<&fs::Metadata> for Identity {
    fn from(about: &fs::Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// The text, and the state that the file had before it was read: what is written meanwhile shows as a change.
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read(file: &Path) -> Result<(String, Identity), ConfigError> {
    let (bytes, identity) = bytes(file).map_err(|error| ConfigError::unread(file, unreadable(&error)))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        ConfigError::new(file, &good, vec![(good.len(), "this is not valid UTF-8".to_owned())])
    })?;
    Ok((text, identity))
}

fn bytes(path: &Path) -> io::Result<(Vec<u8>, Identity)> {
    let file = File::open(path)?;
    let identity = Identity::from(&file.metadata()?);
    // Every request does this: with its room known and `take` in between nobody asks for the size once more.
    let mut bytes = Vec::with_capacity(usize::try_from(identity.size).unwrap_or(0).saturating_add(1));
    file.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok((bytes, identity))
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file; name one by --config or PRESSROOM_CONFIG".to_owned(),
        _ => format!("cannot read the configuration: {error}"),
    }
}
