//! Space: how much there is, whether there is room for what is to be written, and file systems that cannot carry a site.
//!
//! What is free on a disk is not what a user may still write: a quota, of a user, a group, a project or a subvolume, shows
//! only to who tries. Some space is kept back, so that a full disk can still be cleaned up: deleting rows needs room for
//! the log of the database.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags, OFlag, openat, posix_fallocate, renameat},
    sys::{
        stat::Mode,
        statfs::{Statfs, statfs},
        statvfs::statvfs,
    },
    unistd::{linkat, unlink},
};

use super::{
    Site,
    dir::{Dir, open_regular},
    layout,
};

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
const FOLDS: &str = "it does not tell upper case from lower case in file names";

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
    let folds = folds_case(path, layout::MARKER)?;
    Ok(folds.then(|| format!("{} cannot be used: {FOLDS}; use another file system", path.display())))
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
        "files of {} cannot be linked into {}, because they are on different mounts; mount the directory that contains both as a whole",
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
        Ok(()) => folds?.then(|| format!("{} cannot be used: {FOLDS}", cache.display())),
    })
}

/// Bytes that can be used without swapping, as the kernel estimates.
pub fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Bytes that are asked for in vain where a disk or a quota is full.
const LEAST: u64 = 1 << 20;
/// Of these so many are written: a block can be given out and not be written all the same.
const WRITTEN: usize = 64 << 10;

/// Bytes that can still be written at `dir`, as far as it is known: none where a quota is used up.
pub fn room(dir: &Path) -> io::Result<u64> {
    let free = free_bytes(dir)?;
    Ok(if free >= LEAST && refuses(dir, LEAST) { 0 } else { free })
}

/// Whether so many bytes cannot be written into `dir` for want of space. Where they cannot be for another reason, nothing
/// is said. Nothing is left there.
pub fn refuses(dir: &Path, bytes: u64) -> bool {
    tried(dir, bytes).is_err_and(|error| is_out_of_space(&error))
}

/// A disk without space, or a quota that is used up.
pub fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn tried(dir: &Path, bytes: u64) -> io::Result<()> {
    let file = unnamed(dir)?;
    posix_fallocate(&file, 0, bytes.cast_signed())?;
    file.write_all_at(&vec![0; WRITTEN], 0)
}

/// A file without a name, or one that loses its name at once where there are none such.
fn unnamed(dir: &Path) -> nix::Result<File> {
    let (flags, mode) = (OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::S_IRUSR | Mode::S_IWUSR);
    match openat(AT_FDCWD, dir, flags | OFlag::O_TMPFILE, mode) {
        Err(Errno::EOPNOTSUPP | Errno::EISDIR | Errno::ENOSYS) => {
            let path = dir.join(format!(".room-{}", std::process::id()));
            let file = openat(AT_FDCWD, &path, flags | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW, mode)?;
            unlink(&path)?;
            Ok(file.into())
        }
        opened => Ok(opened?.into()),
    }
}

/// Bytes.
pub(super) const RESERVE_SIZE: u64 = 1 << 20;

impl Site {
    /// Frees the reserve. `false`: it had been given up before.
    pub fn give_up_reserve(&self) -> io::Result<bool> {
        let file = match self.open_reserve(OpenOptions::new().write(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let held = file.metadata()?.len() > 0;
        if let Err(error) = file.set_len(0) {
            // Where nothing is written in its place, cutting a file takes a block, too; removing it is let through.
            if !is_out_of_space(&error) {
                return Err(error);
            }
            fs::remove_file(self.reserve())?;
        }
        Ok(held)
    }

    /// Takes the reserve back if there is space enough again; tells whether it is whole.
    pub fn restore_reserve(&self) -> io::Result<bool> {
        let mut how = OpenOptions::new();
        let file = self.open_reserve(how.write(true).create(true).truncate(false).mode(0o660))?;
        if file.metadata()?.len() >= RESERVE_SIZE {
            return Ok(true);
        }
        // Taken back at once, the last free blocks would be missing for what they were given up for.
        if free_bytes(&self.queue())? < 4 * RESERVE_SIZE || refuses(&self.queue(), 4 * RESERVE_SIZE) {
            return Ok(false);
        }
        // Made anew by this user, it may have the wrong mode; of the other user's it cannot be changed, nor need it be.
        let _ = file.set_permissions(Permissions::from_mode(0o660));
        fill(&file)
    }

    /// Whoever may write in `queue/` can put anything in its place. Nothing is followed, nothing blocks us, and a file
    /// that has another name as well is somebody's: it is neither cut nor filled.
    fn open_reserve(&self, how: &mut OpenOptions) -> io::Result<File> {
        let file = open_regular(&self.reserve(), how)?;
        if file.metadata()?.nlink() > 1 {
            return Err(io::Error::other("it has another name as well; remove it"));
        }
        Ok(file)
    }
}

/// Gives the file its blocks. `false`: there are not enough, and none is kept.
pub(super) fn fill(file: &File) -> io::Result<bool> {
    let Err(error) = posix_fallocate(file, 0, RESERVE_SIZE.cast_signed()).map_err(io::Error::from) else {
        return Ok(true);
    };
    file.set_len(0)?;
    if is_out_of_space(&error) { Ok(false) } else { Err(error) }
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
        assert!(refusal(dir.path()).unwrap().unwrap().contains("upper case from lower case"));
    }
}

#[cfg(test)]
mod room_tests {
    use super::*;

    #[test]
    fn where_there_is_room_it_is_found_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!refuses(dir.path(), LEAST) && room(dir.path()).unwrap() > LEAST);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(!refuses(&dir.path().join("missing"), LEAST), "nothing is known");
    }
}
