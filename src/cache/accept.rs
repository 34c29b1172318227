//! Whether what an exporter left behind is a file to publish.

use std::{
    fmt,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt, PermissionsExt},
    },
    path::Path,
};

use nix::libc::{O_NOFOLLOW, O_PATH};

use crate::{
    config::FileOutput,
    model::status::Outcome,
    site::{self, dir::open_regular},
};

/// Bytes that one must be able to write after an export: with less, what was written last may be missing.
const ROOM: u64 = 1 << 20;
/// Bytes in which the mark of a whole file is looked for.
const TAIL: u64 = 1024;

/// Why an output was refused. The text is for the admin.
#[derive(Debug)]
pub enum NotAccepted {
    Missing,
    Directory,
    /// A link, a FIFO, a device, a socket.
    NotRegular,
    Empty,
    TooSmall {
        /// Bytes.
        size: u64,
        /// Bytes.
        min_size: u64,
    },
    /// It does not begin as its kind of file does.
    Magic,
    /// It does not end as its kind of file does.
    End,
    /// It has as many bytes as `file_size` allows.
    CutAtLimit(u64),
    /// So little space is left that the file cannot be trusted to be whole.
    DiskFull,
    Unreadable(io::Error),
}

impl NotAccepted {
    /// How the attempt ended.
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::CutAtLimit(_) => Outcome::FileSize,
            _ => Outcome::NoOutput,
        }
    }

    /// The same for a visitor, without names and sizes.
    pub const fn for_visitor(&self) -> &'static str {
        match self {
            Self::CutAtLimit(_) => "the file became too large",
            Self::DiskFull => "there is no space left for the file",
            _ => "no usable file was made",
        }
    }
}

impl std::error::Error for NotAccepted {}

impl fmt::Display for NotAccepted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(out, "the exporter left no file at PRESSROOM_OUTPUT"),
            Self::Directory => write!(out, "the output is a directory, not a file"),
            Self::NotRegular => write!(out, "the output is a link or a special file, not a regular file"),
            Self::Empty => write!(out, "the output is empty"),
            Self::TooSmall { size, min_size } => {
                write!(out, "the output has {size} bytes, fewer than the {min_size} of min_size")
            }
            Self::Magic => write!(out, "the output does not begin with the bytes of magic"),
            Self::End => write!(out, "the output does not end with the bytes of ends_with, so it may be truncated"),
            Self::CutAtLimit(size) => {
                write!(out, "the output has the {size} bytes that file_size allows, so it is probably truncated")
            }
            Self::DiskFull => write!(out, "the disk is full: not even 1 MiB can be written where the output lies"),
            Self::Unreadable(error) => write!(out, "cannot read the output: {error}"),
        }
    }
}

/// The size in bytes of an acceptable output. `file_size_limit` is the limit the attempt ran under. No link is followed.
pub fn accept(out: &Path, rules: &FileOutput, file_size_limit: Option<u64>) -> Result<u64, NotAccepted> {
    let verdict = judge(out, rules, file_size_limit);
    // What a full disk explains is told as that. A directory or a link is the exporter's own doing.
    if matches!(verdict, Err(NotAccepted::CutAtLimit(_) | NotAccepted::Directory | NotAccepted::NotRegular))
        || has_room(out)
    {
        verdict
    } else {
        Err(NotAccepted::DiskFull)
    }
}

fn has_room(out: &Path) -> bool {
    let dir = out.parent().unwrap_or(out);
    site::room(dir).map_or(true, |free| free >= ROOM)
}

fn judge(out: &Path, rules: &FileOutput, file_size_limit: Option<u64>) -> Result<u64, NotAccepted> {
    let size = kind_and_size(out)?;
    if file_size_limit.is_some_and(|limit| size >= limit) {
        return Err(NotAccepted::CutAtLimit(size));
    }
    if size < rules.min_size {
        return Err(if size == 0 {
            NotAccepted::Empty
        } else {
            NotAccepted::TooSmall { size, min_size: rules.min_size }
        });
    }
    let file = open(out).map_err(NotAccepted::Unreadable)?;
    if !begins_with(&file, &rules.magic).map_err(NotAccepted::Unreadable)? {
        return Err(NotAccepted::Magic);
    }
    if !ends_with(&file, size, &rules.ends_with).map_err(NotAccepted::Unreadable)? {
        return Err(NotAccepted::End);
    }
    Ok(size)
}

fn kind_and_size(out: &Path) -> Result<u64, NotAccepted> {
    match fs::symlink_metadata(out) {
        Ok(about) if about.is_file() => Ok(about.len()),
        Ok(about) if about.is_dir() => Err(NotAccepted::Directory),
        Ok(_) => Err(NotAccepted::NotRegular),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(NotAccepted::Missing)
        }
        Err(error) => Err(NotAccepted::Unreadable(error)),
    }
}

fn begins_with(file: &File, magic: &[u8]) -> io::Result<bool> {
    let mut head = vec![0; magic.len()];
    match file.read_exact_at(&mut head, 0) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| head == magic),
    }
}

fn ends_with(file: &File, size: u64, mark: &[u8]) -> io::Result<bool> {
    if mark.is_empty() {
        return Ok(true);
    }
    let length = size.min(TAIL);
    let mut tail = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact_at(&mut tail, size - length)?;
    Ok(tail.windows(mark.len()).any(|place| place == mark))
}

/// Opens a regular file for reading, whatever its mode. Nothing is followed and nothing blocks.
pub(super) fn open(out: &Path) -> io::Result<File> {
    let open = || open_regular(out, OpenOptions::new().read(true));
    match open() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => make_readable(out).and_then(|()| open()),
        opened => opened,
    }
}

/// Changes the mode of this very file: a path could mean another one by then.
fn make_readable(out: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_PATH).open(out)?;
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), Permissions::from_mode(0o600))
}
