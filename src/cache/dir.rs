//! Directories held open, so that nothing is reached through a symbolic link.
