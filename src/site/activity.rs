//! The activity log: JSON lines, appended whole by ticks and runs, rotated by size.
//!
//! Writers lock the file that they have open, and look whether the path still leads to it: whoever waited while another
//! one rotated writes into the new file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use fs2::FileExt;
use serde::Serialize;
use serde_json::{Map, Value};

use super::dir::open_regular;
use crate::model::{
    clock::Stamp,
    job::{Claim, Job, Record},
};

/// A writer that was stopped holds the lock: the others try so often, with a pause in between.
const LOCK_TRIES: u32 = 50;
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// The activity log of a site.
#[derive(Clone, Debug)]
pub struct ActivityLog {
    path: PathBuf,
    /// Bytes; a file that would become larger is renamed to `.1`, in place of the one before.
    max: u64,
}

impl ActivityLog {
    pub const fn new(path: PathBuf, max: u64) -> Self {
        Self { path, max }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// Nothing of them is in the file then, unless the disk failed between.
    pub fn append(&self, lines: &str) -> io::Result<()> {
        let file = self.locked(lines.len() as u64)?;
        let before = file.metadata()?.len();
        (&file).write_all(lines.as_bytes()).inspect_err(|_| drop(file.set_len(before)))
    }

    /// The file that the path leads to, locked, with room for so many more bytes.
    fn locked(&self, more: u64) -> io::Result<File> {
        loop {
            let file = self.open()?;
            lock(&file)?;
            let about = file.metadata()?;
            let leads_here = fs::symlink_metadata(&self.path).is_ok_and(|now| now.ino() == about.ino());
            match leads_here {
                true if about.len() > 0 && about.len().saturating_add(more) > self.max => {
                    fs::rename(&self.path, self.previous())?;
                }
                true => return Ok(file),
                false => {}
            }
        }
    }

    fn open(&self) -> io::Result<File> {
        open_regular(&self.path, OpenOptions::new().append(true).create(true).mode(0o600))
    }

    /// Where the lines before those of the file lie.
    fn previous(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match FileExt::try_lock_exclusive(file) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(LOCK_RETRY),
            locked => return locked,
        }
    }
    Err(io::Error::new(ErrorKind::WouldBlock, "another process holds its lock"))
}

/// One line of the activity log: when, what, and the facts about it. Times are RFC 3339 in UTC, durations seconds,
/// sizes bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActivityEvent {
    at: String,
    #[serde(rename = "event")]
    what: &'static str,
    #[serde(flatten)]
    facts: Map<String, Value>,
}

impl ActivityEvent {
    pub fn new(what: &'static str, at: Stamp) -> Self {
        Self { at: at.rfc3339_millis(), what, facts: Map::new() }
    }

    /// With one more fact; one that is not known is left out.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        match value.into() {
            Value::Null => {}
            value => drop(self.facts.insert(name.to_owned(), value)),
        }
        self
    }

    /// Which job it is about.
    pub fn job(self, job: &Job) -> Self {
        let about = self.with("job", job.id).with("filename", &*job.filename);
        about.with("exporter", &*job.exporter).with("queue", &*job.queue)
    }

    /// Which attempt it is about.
    pub fn claim(self, claim: &Claim) -> Self {
        let about = self.with("job", claim.job).with("attempt", claim.attempt.as_str()).with("number", claim.number);
        let about = about.with("filename", &*claim.filename).with("exporter", &*claim.exporter);
        about.with("queue", &*claim.queue)
    }

    /// How the attempt ended and what it used.
    pub fn record(self, record: &Record) -> Self {
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        let result = self.with("result", record.outcome.name()).with("duration", seconds(record.duration));
        let result = result.with("exit_code", record.exit_code).with("signal", record.signal);
        let used = result.with("peak_memory", record.peak_memory).with("cpu_used", record.cpu_used.map(seconds));
        used.with("output_size", record.output_size).with("detail", record.detail.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_no_longer_fits_begins_a_new_file_and_one_old_file_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let log = ActivityLog::new(dir.path().join("activity.log"), 10);
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            log.append(line).unwrap();
        }
        assert_eq!(fs::read_to_string(log.previous()).unwrap(), "three\n");
        assert_eq!(fs::read_to_string(log.path()).unwrap(), "four\n");
        log.append("a line longer than the file may be\n").unwrap();
        assert_eq!(fs::read_to_string(log.path()).unwrap(), "a line longer than the file may be\n");
    }

    #[test]
    fn writers_lose_no_line_of_each_other_while_the_file_is_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("activity.log");
        let write = |name: usize| {
            let log = ActivityLog::new(path.clone(), 4 * 1000);
            (0..100).for_each(|line| log.append(&format!("{name} {line:03}\n")).unwrap());
        };
        std::thread::scope(|scope| (0..8).for_each(|name| drop(scope.spawn(move || write(name)))));
        let log = ActivityLog::new(path, 0);
        let text = fs::read_to_string(log.previous()).unwrap() + &fs::read_to_string(log.path()).unwrap();
        assert_eq!(text.lines().count(), 800);
        assert!(text.lines().all(|line| line.len() == 5));
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("activity.log");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(ActivityLog::new(path, 10).append("line\n").is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}

#[cfg(test)]
mod event_tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let event = ActivityEvent::new("pruned", Stamp(1_500)).with("size", 7).with("reason", None::<&str>);
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"at":"1970-01-01T00:00:01.500Z","event":"pruned","size":7}"#);
    }
}
