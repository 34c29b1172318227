//! The server's error log: one line for each thing that an administrator has to know, whatever it contains.

use std::fmt::Display;

use crate::logging;

/// Writes one line. Nothing in it can begin another one.
pub(super) fn line(text: impl Display) {
    logging::diagnostic_line(text);
}
