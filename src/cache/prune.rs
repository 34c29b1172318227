//! Pruning: what is there, what goes, and taking it away.
//!
//! The caller removes inside a short transaction, leaving out every name that the queue still needs. One directory or file
//! that cannot be read does not stop the rest.

use std::{
    ffi::OsStr,
    io,
    time::{Duration, UNIX_EPOCH},
};

use nix::sys::{
    stat::{UtimensatFlags, utimensat},
    time::TimeSpec,
};

use super::{Cache, names};
use crate::{
    model::{
        age::{Aged, expired_now, prune_choice},
        clock::Stamp,
        job::AttemptId,
    },
    site::dir::{Dir, FileInfo},
};

/// A finished file that a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    pub filename: String,
    /// Bytes.
    pub size: u64,
    pub made: Stamp,
    pub mtime_ns: i128,
    pub inode: u64,
    pub device: u64,
}

impl CacheEntry {
    pub(super) fn of(filename: String, about: &FileInfo) -> Self {
        Self {
            filename,
            size: about.size,
            made: made(about.mtime_ns),
            mtime_ns: about.mtime_ns,
            inode: about.inode,
            device: about.device,
        }
    }

    pub fn exporter(&self) -> &str {
        self.filename.split_once('/').map_or(self.filename.as_str(), |(exporter, _)| exporter)
    }

    fn is(&self, about: &FileInfo) -> bool {
        about.is_file() && (about.inode, about.device, about.mtime_ns) == (self.inode, self.device, self.mtime_ns)
    }
}

/// A file's modification time in whole milliseconds.
pub(super) fn made(mtime_ns: i128) -> Stamp {
    Stamp(i64::try_from(mtime_ns.div_euclid(1_000_000)).unwrap_or(i64::MAX))
}

/// What is to be done about the files of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// These go.
    pub gone: Vec<CacheEntry>,
    /// These expire, for want of room, by being given this time of making; without one they go.
    pub expired: Vec<(CacheEntry, Option<Stamp>)>,
    /// Bytes beyond the cache's size that stay, as what is left is young or pinned.
    pub excess: u64,
}

/// The entries that go, and the oldest that have to expire until the rest fits into `max_size` bytes; none that is
/// younger than `grace` expires for its size. `rules` gives an exporter's ttl and stale.
pub fn choose(
    entries: &[CacheEntry],
    rules: impl Fn(&str) -> (Option<Duration>, Duration),
    grace: Duration,
    max_size: u64,
    now: Stamp,
    is_pinned: impl Fn(&CacheEntry) -> bool,
) -> Chosen {
    let aged = |entry: &CacheEntry| {
        let (ttl, stale) = rules(entry.exporter());
        Aged::new(entry.made, entry.size, now, ttl, stale, grace)
    };
    let files: Vec<_> = entries.iter().map(aged).collect();
    let choice = prune_choice(&files, grace, max_size, now, |place| is_pinned(&entries[place]));
    let expire = |entry: &CacheEntry| {
        let (ttl, stale) = rules(entry.exporter());
        (entry.clone(), expired_now(now, ttl, stale))
    };
    Chosen {
        gone: choice.gone.iter().map(|&place| entries[place].clone()).collect(),
        expired: choice.expired.iter().map(|&place| expire(&entries[place])).collect(),
        excess: choice.excess,
    }
}

impl Cache {
    /// Gives files from more than a minute ahead, and those between the two moments of `misdated`, the time `now`, in the
    /// cache and in `entries`; tells how many.
    pub fn heal(
        &self,
        entries: &mut [CacheEntry],
        now: Stamp,
        misdated: Option<(Stamp, Stamp)>,
        problems: &mut Vec<String>,
    ) -> usize {
        let latest = now.plus(Duration::from_mins(1));
        let is_wrong = |made: Stamp| made > latest || misdated.is_some_and(|(from, to)| made >= from && made <= to);
        let mut healed = 0;
        for entry in entries.iter_mut().filter(|entry| is_wrong(entry.made)) {
            match self.set_time_of(entry, now) {
                Ok(true) => healed += 1,
                Ok(false) => {}
                Err(error) => problems.push(format!("cannot set the time of {}: {error}", entry.filename)),
            }
        }
        healed
    }

    fn set_time_of(&self, entry: &mut CacheEntry, now: Stamp) -> io::Result<bool> {
        let Some((dir, name)) = self.find(entry)? else { return Ok(false) };
        set_time(&dir, name, now)?;
        if let Some(about) = dir.about(name)? {
            *entry = CacheEntry::of(entry.filename.clone(), &about);
        }
        Ok(true)
    }

    /// Gives the entry this time of making if it is still the file that was scanned, so that it is not served any more;
    /// a file that is not ours to change is unlinked. `false`: it has gone, or was replaced.
    pub fn expire(&self, entry: &CacheEntry, made: Option<Stamp>) -> io::Result<bool> {
        let Some(made) = made else { return self.remove(entry) };
        let Some((dir, name)) = self.find(entry)? else { return Ok(false) };
        match set_time(&dir, name, made) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => dir.unlink(name),
            set => set.map(|()| true),
        }
    }

    /// Unlinks the entry if it is still the file that was scanned. `false`: it has gone, or was replaced.
    pub fn remove(&self, entry: &CacheEntry) -> io::Result<bool> {
        self.find(entry)?.map_or(Ok(false), |(dir, name)| dir.unlink(name))
    }

    /// The directory and name of an entry, if what lies there is still the same file.
    fn find<'a>(&self, entry: &'a CacheEntry) -> io::Result<Option<(Dir, &'a OsStr)>> {
        let (exporter, name) = names::split(&entry.filename)?;
        let Some(dir) = self.exporter_dir(exporter)? else { return Ok(None) };
        let same = dir.about(name)?.is_some_and(|about| entry.is(&about));
        Ok(same.then_some((dir, name)))
    }

    /// Sets the time at which the file was made. `false`: there is no such file.
    pub fn age(&self, filename: &str, to: Stamp) -> io::Result<bool> {
        let (exporter, name) = names::split(filename)?;
        let Some(dir) = self.exporter_dir(exporter)? else { return Ok(false) };
        if !dir.about(name)?.is_some_and(|about| about.is_file()) {
            return Ok(false);
        }
        set_time(&dir, name, to)?;
        Ok(true)
    }
}

fn set_time(dir: &Dir, name: &OsStr, to: Stamp) -> io::Result<()> {
    let time = TimeSpec::from(to.system_time().duration_since(UNIX_EPOCH).unwrap_or_default());
    Ok(utimensat(dir, name, &time, &time, UtimensatFlags::NoFollowSymlink)?)
}

/// A name that an attempt has left while it published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temp {
    pub exporter: String,
    pub attempt: AttemptId,
}

impl Cache {
    /// Every finished file. What cannot be read becomes a sentence in `problems` and does not stop the rest.
    pub fn scan(&self, problems: &mut Vec<String>) -> Vec<CacheEntry> {
        let mut entries = Vec::new();
        self.each_name(problems, |dir, exporter, name| {
            if names::is_ours(name)
                && let Some(about) = dir.about(OsStr::new(name))?
                && about.is_file()
            {
                entries.push(CacheEntry::of(format!("{exporter}/{name}"), &about));
            }
            Ok(())
        });
        entries
    }

    /// Names that attempts have left while publishing; whose attempt is gone can be removed.
    pub fn temps(&self, problems: &mut Vec<String>) -> Vec<Temp> {
        let mut temps = Vec::new();
        self.each_name(problems, |_, exporter, name| {
            if let Some(attempt) = name.strip_prefix('.').and_then(AttemptId::parse) {
                temps.push(Temp { exporter: exporter.to_owned(), attempt });
            }
            Ok(())
        });
        temps
    }

    fn each_name(&self, problems: &mut Vec<String>, mut visit: impl FnMut(&Dir, &str, &str) -> io::Result<()>) {
        for exporter in self.exporters(problems) {
            let Some((dir, names)) = note(problems, &exporter, self.names(&exporter)).flatten() else { continue };
            for name in names {
                note(problems, &format!("{exporter}/{name}"), visit(&dir, &exporter, &name));
            }
        }
    }

    fn exporters(&self, problems: &mut Vec<String>) -> Vec<String> {
        let names = Dir::open_real(self.dir()).and_then(|cache| cache.names(usize::MAX));
        let names = note(problems, "", names).unwrap_or_default();
        names.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| names::is_exporter(name)).collect()
    }

    fn names(&self, exporter: &str) -> io::Result<Option<(Dir, Vec<String>)>> {
        let Some(dir) = self.exporter_dir(exporter)? else { return Ok(None) };
        let names = dir.names(usize::MAX)?.into_iter().filter_map(|name| name.into_string().ok()).collect();
        Ok(Some((dir, names)))
    }
}

fn note<T>(problems: &mut Vec<String>, what: &str, result: io::Result<T>) -> Option<T> {
    result.map_err(|error| problems.push(format!("cannot read cache/{what}: {error}"))).ok()
}
