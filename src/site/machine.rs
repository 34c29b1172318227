//! Which machine this is, which boot of it, and which life of its process numbers.

use std::{fs, io, os::unix::fs::MetadataExt};

use crate::model::passing;

/// The id of this machine; empty where there is none, as in some containers.
pub fn machine_id() -> String {
    read("/etc/machine-id").unwrap_or_default()
}

/// The id of the current boot; empty if the kernel does not tell. An error says nothing about it.
pub fn boot_id() -> io::Result<String> {
    const PATH: &str = "/proc/sys/kernel/random/boot_id";
    match read(PATH) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(passing::with_cause(&format!("cannot read {PATH}"), &error)),
        id => id,
    }
}

/// What tells one use of the process numbers from another within a boot: a container that is started anew counts from 1
/// again. What is not known is not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PidLife {
    /// Inode of the PID namespace. The kernel gives it away again when the namespace has gone.
    pub namespace: Option<u64>,
    /// Start of the namespace's first process, in clock ticks since boot; not known where `/proc` is mounted with `hidepid`.
    pub first: Option<u64>,
}

impl PidLife {
    /// Of the calling process. An error says nothing about it.
    pub fn here() -> io::Result<Self> {
        let namespace = known("/proc/self/ns/pid", fs::metadata("/proc/self/ns/pid"))?;
        let first = known("/proc/1/stat", fs::read_to_string("/proc/1/stat"))?;
        Ok(Self { namespace: namespace.map(|about| about.ino()), first: first.as_deref().and_then(start) })
    }

    /// Whether numbers of the other one may lead to processes of this one.
    pub fn may_be(self, other: Self) -> bool {
        let fits = |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(one, other)| one == other);
        fits(self.namespace, other.namespace) && fits(self.first, other.first)
    }
}

/// `None`: the kernel does not tell us.
fn known<T>(path: &str, read: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot read {path}: {error}"))),
    }
}

/// Field 22 of `/proc/PID/stat`; the name before the third one may hold anything.
fn start(stat: &str) -> Option<u64> {
    stat.rsplit_once(") ")?.1.split(' ').nth(22 - 3)?.parse().ok()
}

fn read(path: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_another_life_are_told_from_ours_as_far_as_it_is_known() {
        let here = PidLife::here().unwrap();
        assert!(here.namespace.is_some() && here.may_be(here) && here.may_be(PidLife::default()));
        let known = PidLife { namespace: Some(7), first: Some(100) };
        for (namespace, first, may_be) in [(7, 100, true), (8, 100, false), (7, 101, false)] {
            assert_eq!(known.may_be(PidLife { namespace: Some(namespace), first: Some(first) }), may_be);
        }
        assert!(known.may_be(PidLife { first: None, ..known }));
        assert!(!known.may_be(PidLife { namespace: Some(8), first: None }));
    }

    #[test]
    fn the_start_is_found_behind_any_name() {
        let stat = "1 (a) (b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9000";
        assert_eq!(start(stat), Some(777));
        assert_eq!(start(""), None);
    }
}
