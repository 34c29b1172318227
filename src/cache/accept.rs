//! Whether what an exporter left behind is a file to publish.

use std::{fmt, io, path::Path};

use crate::{config::FileOutput, model::status::Outcome};

/// Why an output was refused. The text is for the admin.
#[derive(Debug)]
pub enum Refusal {
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

impl Refusal {
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

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, _out: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

/// The size in bytes of an acceptable output. `file_size_limit` is the limit the attempt ran under. No link is followed.
pub fn accept(_out: &Path, _rules: &FileOutput, _file_size_limit: Option<u64>) -> Result<u64, Refusal> {
    todo!()
}
