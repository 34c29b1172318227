//! What lies in a work directory.

use std::{
    collections::HashSet,
    fs::{self, Metadata, ReadDir},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The sizes of what was found. Links are not followed; what cannot be read or has vanished is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes on the disk: holes cost nothing, and a file with several names counts once.
    pub total: u64,
    /// Bytes of the largest file.
    pub largest: u64,
    /// A file of exactly the size that was asked about.
    pub exact: bool,
}

/// A count on its way: a directory may have millions of entries, and meanwhile other limits have to be watched.
pub(super) struct SizeCount {
    pub found: Usage,
    exact: Option<u64>,
    open: Option<ReadDir>,
    todo: Vec<PathBuf>,
    /// Files with several names that were counted.
    linked: HashSet<(u64, u64)>,
}

/// Counts the directory. `exact` is the length of a file to look for.
pub(super) fn count(dir: &Path, exact: Option<u64>) -> Usage {
    let mut count = SizeCount::begin(dir, exact);
    while !count.go_on(usize::MAX) {}
    count.found
}

impl SizeCount {
    pub(super) fn begin(dir: &Path, exact: Option<u64>) -> Self {
        let (open, todo) = (None, vec![dir.to_path_buf()]);
        Self { found: Usage::default(), exact, open, todo, linked: HashSet::new() }
    }

    /// Counts at most so many entries more. `true`: that was all.
    pub(super) fn go_on(&mut self, mut entries: usize) -> bool {
        while entries > 0 {
            let Some(open) = &mut self.open else {
                let Some(dir) = self.todo.pop() else { return true };
                self.open = fs::read_dir(dir).ok();
                continue;
            };
            entries -= 1;
            match open.next() {
                None => self.open = None,
                Some(entry) => {
                    let Ok((meta, path)) = entry.and_then(|entry| Ok((entry.metadata()?, entry.path()))) else {
                        continue;
                    };
                    self.add(&meta, path);
                }
            }
        }
        false
    }

    fn add(&mut self, meta: &Metadata, path: PathBuf) {
        let several = meta.nlink() > 1 && !meta.is_dir();
        if several && !self.linked.insert((meta.dev(), meta.ino())) {
            return;
        }
        let found = &mut self.found;
        found.total = found.total.saturating_add(meta.blocks() * 512);
        if meta.is_dir() {
            self.todo.push(path);
        } else if meta.is_file() {
            found.largest = found.largest.max(meta.len());
            found.exact |= Some(meta.len()) == self.exact;
        }
    }
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
    #[test]
    fn a_file_with_four_names_counts_once_and_slices_count_the_same() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("file"), vec![1; 100_000]).expect("written");
        for name in ["a", "b", "c"] {
            fs::hard_link(dir.path().join("file"), dir.path().join(name)).expect("linked");
        }
        let found = count(dir.path(), None);
        assert!(found.total >= 100_000 && found.total < 200_000, "{found:?}");
        let mut slices = SizeCount::begin(dir.path(), None);
        while !slices.go_on(1) {}
        assert_eq!(slices.found, found);
    }
}
