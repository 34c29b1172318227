//! What lies in a work directory.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// A directory with more entries is not counted to its end; its size tells enough by then.
const ENTRIES: usize = 200_000;

/// The sizes of what was found. Links are not followed; what cannot be read or has vanished is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes on the disk: holes cost nothing.
    pub total: u64,
    /// Bytes of the largest file.
    pub largest: u64,
    /// A file of exactly the size that was asked about.
    pub exact: bool,
}

/// Counts the directory. `exact` is the length of a file to look for.
pub(super) fn count(dir: &Path, exact: Option<u64>) -> Found {
    let mut found = Found::default();
    let mut todo: Vec<PathBuf> = vec![dir.to_path_buf()];
    let mut left = ENTRIES;
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let Ok(meta) = entry.metadata() else { continue };
            found.total = found.total.saturating_add(meta.blocks() * 512);
            if meta.is_dir() {
                todo.push(entry.path());
            } else if meta.is_file() {
                found.largest = found.largest.max(meta.len());
                found.exact |= Some(meta.len()) == exact;
            }
        }
    }
    found
}

/// The length of a regular file, no link followed.
pub(super) fn length(file: &Path) -> Option<u64> {
    fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file).map(|meta| meta.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_links_cost_nothing_and_depth_is_counted() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("a/b")).expect("made");
        fs::write(dir.path().join("a/b/file"), vec![1; 100_000]).expect("written");
        fs::File::create(dir.path().join("hole")).and_then(|file| file.set_len(1 << 40)).expect("made");
        std::os::unix::fs::symlink("/usr", dir.path().join("link")).expect("linked");
        let found = count(dir.path(), Some(100_000));
        assert!(found.exact && found.largest == 1 << 40);
        assert!(found.total >= 100_000 && found.total < 200_000, "{found:?}");
    }
}
