//! Files and directories opened where anything may lie in their place: no symbolic link is followed, nothing blocks.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{FileTypeExt, OpenOptionsExt},
        },
    },
    path::Path,
};

use nix::{
    dir,
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags, OFlag, openat},
    libc::{O_NOCTTY, O_NOFOLLOW, O_NONBLOCK},
    sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat},
    unistd::{UnlinkatFlags, fsync, unlinkat},
};

/// Opens, or makes, a regular file, as `how` says. A symbolic link in its place is refused, and a FIFO does not make us
/// wait for its other end.
///
/// # Errors
/// Also for anything that is not a regular file.
pub fn open_regular(path: &Path, how: &mut OpenOptions) -> io::Result<File> {
    let file = how.custom_flags(O_NOFOLLOW | O_NONBLOCK | O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

const HOLD: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// An open directory.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Fifo,
    /// A symbolic link, a device, a socket.
    Other,
}

/// A look at a name that follows no link.
#[derive(Clone, Copy, Debug)]
pub struct FileInfo {
    pub kind: FileKind,
    pub device: u64,
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    pub mtime_ns: i128,
    pub uid: u32,
    pub gid: u32,
    /// The twelve bits of permissions, setuid and setgid included.
    pub mode: u32,
}

impl Dir {
    /// Opens a directory that may be named through links; for places the admin chose.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(AT_FDCWD, path, HOLD, Mode::empty())?))
    }

    /// Holds a directory only to look and make things in it: passing through is enough, reading it is not needed.
    pub fn locate(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(AT_FDCWD, path, HOLD | OFlag::O_PATH, Mode::empty())?))
    }

    /// Opens a directory that may itself be no link.
    pub fn open_real(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(AT_FDCWD, path, HOLD | OFlag::O_NOFOLLOW, Mode::empty())?))
    }

    /// Opens a directory in this one; a link is refused.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, HOLD | OFlag::O_NOFOLLOW, Mode::empty())?))
    }

    /// Holds a directory in this one only to look at it, whatever its mode; a link is refused.
    pub fn locate_in(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, HOLD | OFlag::O_PATH | OFlag::O_NOFOLLOW, Mode::empty())?))
    }

    /// The number of the mount that it lies on.
    pub fn mount(&self) -> io::Result<u64> {
        let path = format!("/proc/self/fdinfo/{}", self.0.as_raw_fd());
        let text = fs::read_to_string(&path)?;
        let number = text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
        number.ok_or_else(|| io::Error::other(format!("{path} tells no mount")))
    }

    /// Makes a directory for its owner alone. `false`: the name is taken.
    pub fn make(&self, name: &OsStr) -> io::Result<bool> {
        match mkdirat(&self.0, name, Mode::S_IRWXU) {
            Err(Errno::EEXIST) => Ok(false),
            made => Ok(made.map(|()| true)?),
        }
    }

    /// Makes a file for its owner alone, open for reading and writing; the name must be free.
    pub fn make_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?.into())
    }

    /// Opens a file for reading; a link is refused, and nothing waits for a FIFO's writer.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// `None`: there is no such name.
    pub fn about(&self, name: &OsStr) -> io::Result<Option<FileInfo>> {
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => Ok(None),
            looked => Ok(Some(FileInfo::of(&looked?))),
        }
    }

    /// At most `most` names, in no order.
    pub fn names(&self, most: usize) -> io::Result<Vec<OsString>> {
        let mut listing = dir::Dir::openat(&self.0, ".", HOLD, Mode::empty())?;
        let mut names = Vec::new();
        for entry in listing.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if names.len() == most {
                break;
            }
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    /// Removes a name that is no directory. `false`: it was not there.
    pub fn unlink(&self, name: &OsStr) -> io::Result<bool> {
        gone_is_false(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir))
    }

    /// Removes an empty directory. `false`: it was not there.
    pub fn remove_dir(&self, name: &OsStr) -> io::Result<bool> {
        gone_is_false(unlinkat(&self.0, name, UnlinkatFlags::RemoveDir))
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.0)?)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl FileInfo {
    fn of(stat: &FileStat) -> Self {
        Self {
            kind: FileKind::of(stat.st_mode),
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode & 0o7777,
        }
    }

    pub const fn is_file(&self) -> bool {
        matches!(self.kind, FileKind::File)
    }

    pub const fn is_dir(&self) -> bool {
        matches!(self.kind, FileKind::Directory)
    }
}

impl From<std::fs::FileType> for FileKind {
    fn from(kind: std::fs::FileType) -> Self {
        match kind {
            kind if kind.is_file() => Self::File,
            kind if kind.is_dir() => Self::Directory,
            kind if kind.is_fifo() => Self::Fifo,
            _ => Self::Other,
        }
    }
}

impl FileKind {
    fn of(mode: u32) -> Self {
        match SFlag::from_bits_truncate(mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFREG => Self::File,
            SFlag::S_IFDIR => Self::Directory,
            SFlag::S_IFIFO => Self::Fifo,
            _ => Self::Other,
        }
    }
}

fn gone_is_false(removed: nix::Result<()>) -> io::Result<bool> {
    match removed {
        Err(Errno::ENOENT) => Ok(false),
        removed => Ok(removed.map(|()| true)?),
    }
}
