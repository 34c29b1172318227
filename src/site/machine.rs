//! Which machine this is, and which boot of it.

use std::fs;

/// The id of this machine; empty where there is none, as in some containers.
pub fn machine_id() -> String {
    read("/etc/machine-id")
}

/// The id of the current boot; empty if the kernel does not tell.
pub fn boot_id() -> String {
    read("/proc/sys/kernel/random/boot_id")
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}
