//! Space, and file systems that cannot carry a site.

use std::{ffi::OsStr, fs, io, os::unix::fs::MetadataExt, path::Path};

use nix::{
    errno::Errno,
    fcntl::{AtFlags, renameat},
    sys::{
        statfs::{Statfs, statfs},
        statvfs::statvfs,
    },
    unistd::linkat,
};

use super::{dir::Dir, marker, room::refuses};

/// File systems without dependable locks, links or names: their number in statfs(2), and why not.
const REFUSED: [(u32, &str, &str); 14] = [
    (0x6969, "NFS", REMOTE),
    (0x517b, "SMB", REMOTE),
    (0xff53_4d42, "SMB (cifs)", REMOTE),
    (0xfe53_4d42, "SMB (smb2)", REMOTE),
    (0x5346_414f, "AFS", REMOTE),
    (0x00c3_6400, "Ceph", REMOTE),
    (0x0102_1997, "9p", REMOTE),
    (0x0bd0_0bd0, "Lustre", REMOTE),
    (0x786f_4256, "a VirtualBox shared folder", REMOTE),
    (0x6573_5546, "FUSE", "its locks and links depend on a program"),
    (0x4d44, "FAT", FOLDS),
    (0x2011_bab0, "exFAT", FOLDS),
    (0x7366_746e, "NTFS", FOLDS),
    (0x482b, "HFS+", FOLDS),
];
const REMOTE: &str = "its locks may not tell that a process has died";
const FOLDS: &str = "it takes names that differ in case for the same";

/// Bytes that can still be written at `path` by those who are not root, as df(1) shows them: what is reserved for root
/// helps no exporter.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = statvfs(path)?;
    Ok(disk.blocks_available().saturating_mul(disk.fragment_size()))
}

/// Bytes that the index of a write-ahead log may need.
const INDEX_ROOM: u64 = 128 << 10;
/// The same where a page that is written is never written in its place, and needs records of its own for that.
const COPIED_ROOM: u64 = 1 << 20;
/// Bytes of a page of memory.
const PAGE: u64 = 4096;
/// File systems that copy on write: their numbers in statfs(2). btrfs, bcachefs, ZFS.
const COPYING: [u32; 3] = [0x9123_683e, 0xca45_1a4e, 0x2fc1_2fc1];

/// Whether writing into a mapped file at `path` may end the process, since there is no block for it when the disk is full.
///
/// SQLite allocates one block of each page of its index, and a page that spans several blocks has none behind the others.
/// Where each write takes a new block, it does not help that the file has had one.
pub fn index_may_fault(path: &Path) -> bool {
    statfs(path).is_ok_and(|disk| {
        let block = u64::try_from(disk.block_size()).unwrap_or(PAGE);
        let free = disk.blocks_available().saturating_mul(block);
        let copies = COPYING.contains(&number_of(&disk));
        copies && (free < COPIED_ROOM || refuses(path, COPIED_ROOM)) || block < PAGE && free < INDEX_ROOM
    })
}

fn number_of(disk: &Statfs) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the numbers have 32 bits")]
    let number = disk.filesystem_type().0 as u32;
    number
}

/// Files that can still be made at `path`, by the same. `None`: the file system does not count them.
pub fn free_inodes(path: &Path) -> io::Result<Option<u64>> {
    let disk = statvfs(path)?;
    Ok((disk.files() > 0).then_some(disk.files_available()))
}

/// Why a site cannot lie at `path`, a directory. `None`: it can.
pub fn refusal(path: &Path) -> io::Result<Option<String>> {
    let number = number_of(&statfs(path)?);
    if let Some(why) = refused(number) {
        return Ok(Some(format!("{} is on {why}; use a local file system", path.display())));
    }
    let folds = folds_case(path, marker::MARKER)?;
    Ok(folds.then(|| format!("{} is no place for files: {FOLDS}; use another file system", path.display())))
}

fn refused(number: u32) -> Option<String> {
    REFUSED.iter().find(|(refused, ..)| *refused == number).map(|(_, name, why)| format!("{name}: {why}"))
}

/// Whether the file `name` is found by its name in capitals too.
fn folds_case(dir: &Path, name: &str) -> io::Result<bool> {
    let dir = Dir::open(dir)?;
    let Some(plain) = dir.about(OsStr::new(name))? else { return Ok(false) };
    let capital = dir.about(OsStr::new(&name.to_uppercase()))?;
    Ok(capital.is_some_and(|capital| capital.inode == plain.inode))
}

/// Whether a file can be linked from one directory into the other, as far as their device numbers tell.
pub fn same_filesystem(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(fs::metadata(one)?.dev() == fs::metadata(other)?.dev())
}

/// Two directories between which no file can be linked, be they on one disk or not.
pub fn apart(work: &Path, cache: &Path) -> String {
    format!(
        "no file of {} can get a name in {}, since they are on different mounts; mount the directory that both lie in as a whole",
        work.display(),
        cache.display()
    )
}

/// Whether they are on different mounts: of one file system, too, a link does not lead from one to the other. Where the
/// kernel does not tell, nothing is said.
pub(super) fn are_apart(one: &Path, other: &Path) -> bool {
    let mount = |path: &Path| Dir::locate(path)?.mount();
    mount(one).ok().zip(mount(other).ok()).is_some_and(|(one, other)| one != other)
}

/// Tries what publishing does: a file made in `work` gets a second name in `cache`. Tells why it cannot.
pub(super) fn try_link(work: &Path, cache: &Path) -> io::Result<Option<String>> {
    const PROBE: &str = ".probe";
    let (from, to) = (Dir::open_real(work)?, Dir::open_real(cache)?);
    let name = OsStr::new(PROBE);
    from.unlink(name)?;
    to.unlink(name)?;
    from.make_file(name)?;
    let renamed = OsStr::new(".probed");
    let linked = linkat(&from, name, &to, name, AtFlags::empty());
    let folds = folds_case(cache, PROBE);
    let linked = linked.and_then(|()| renameat(&to, name, &to, renamed));
    from.unlink(name)?;
    to.unlink(name)?;
    to.unlink(renamed)?;
    Ok(match linked {
        Err(Errno::EXDEV) => Some(apart(work, cache)),
        Err(error) => Some(format!(
            "a file of {} cannot be linked into {} ({}); both must lie on one local file system",
            work.display(),
            cache.display(),
            error.desc()
        )),
        Ok(()) => folds?.then(|| format!("{} is no place for files: {FOLDS}", cache.display())),
    })
}

/// Bytes that can be used without swapping, as the kernel estimates.
pub fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_and_case_folding_file_systems_are_refused_and_local_ones_are_not() {
        for (number, ..) in REFUSED {
            assert!(refused(number).is_some());
        }
        for (name, number) in [
            ("overlayfs", 0x794c_7630),
            ("ext4", 0xef53),
            ("xfs", 0x5846_5342),
            ("btrfs", 0x9123_683e),
            ("tmpfs", 0x0102_1994),
        ] {
            assert_eq!(refused(number), None, "{name}");
        }
    }

    #[test]
    fn a_name_found_in_capitals_too_betrays_a_folding_directory() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".pressroom"), "").unwrap();
        assert_eq!(refusal(dir.path()).unwrap(), None);
        fs::hard_link(dir.path().join(".pressroom"), dir.path().join(".PRESSROOM")).unwrap();
        assert!(refusal(dir.path()).unwrap().unwrap().contains("differ in case"));
    }
}
