//! Which machine this is, and which boot of it.

use std::{fs, io};

/// The id of this machine; empty where there is none, as in some containers.
pub fn machine_id() -> String {
    read("/etc/machine-id").unwrap_or_default()
}

/// The id of the current boot; empty if the kernel does not tell. An error says nothing about it.
pub fn boot_id() -> io::Result<String> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    match read(PATH) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot read {PATH}: {error}"))),
        id => id,
    }
}

fn read(path: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}
