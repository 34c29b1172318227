//! The metadata in an attempt's lock file: which processes belong to it, for whoever has to end them after a crash.

use std::{fmt::Write as _, fs::File, io, os::unix::fs::FileExt, time::Duration};

use super::{Site, machine::PidLife};
use crate::model::{clock, job::AttemptId, process::ProcessId};

/// More than ours can have; a longer file was not written by us.
const MAX_BYTES: usize = 4096;

/// What a run writes about itself and its exporter. What is not known yet is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockMetadata {
    pub run: Option<ProcessId>,
    /// The leader of the exporter's process group.
    pub leader: Option<ProcessId>,
    pub leader_session: Option<i32>,
    pub boot_id: String,
    /// In which the numbers of `run` and `leader` count.
    pub life: PidLife,
    /// On the clock of the limits, when the attempt was started.
    pub since_boot: Duration,
    /// On the same clock, when the last of the exporter's tree had ended; what the run does after that may take long.
    pub ended: Option<Duration>,
    /// A tick could not end all of its tree: the next ones look again and do not wait.
    pub is_stuck: bool,
    /// The admin was told that what it left cannot be removed.
    pub is_told: bool,
    /// The run has started nothing, and its job is not at fault: why, in one line, for the tick that gives the job back
    /// and says so. Empty: that is said elsewhere.
    pub refused: Option<String>,
}

impl LockMetadata {
    /// Writes them into the open lock file in place of earlier ones.
    pub fn write(&self, lock: &File) -> io::Result<()> {
        let text = self.text();
        // The rest of a longer text goes last: at no moment is there less to read than before.
        lock.write_all_at(text.as_bytes(), 0)?;
        lock.set_len(text.len() as u64)
    }

    /// Reads as much as is there: the machine may have stopped in the middle of writing.
    pub fn read(lock: &File) -> io::Result<Self> {
        let mut text = vec![0; MAX_BYTES];
        let length = lock.read_at(&mut text, 0)?;
        text.truncate(length);
        Ok(Self::parse(&String::from_utf8_lossy(&text)))
    }

    /// Whether the numbers in it may lead to processes that are there now: they are of this boot, and of this life of the
    /// process numbers.
    pub fn numbers_hold(&self, boot: &str, here: PidLife) -> bool {
        self.boot_id == boot && self.life.may_be(here)
    }

    /// How long the exporter has been running, or how long it ran, on the clock of the limits. `None`: that clock has begun
    /// anew since.
    pub fn elapsed(&self, boot: &str) -> Option<Duration> {
        (self.boot_id == boot).then(|| self.ended.unwrap_or_else(clock::since_boot).saturating_sub(self.since_boot))
    }

    fn text(&self) -> String {
        let mut text = format!("boot {}\nsince_boot_ms {}\n", self.boot_id, self.since_boot.as_millis());
        let mut line = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{key} {value}");
            }
        };
        line("pid_namespace", self.life.namespace.map(|inode| inode.to_string()));
        line("pid_1", self.life.first.map(|start| start.to_string()));
        line("run", self.run.map(ProcessId::text));
        line("leader", self.leader.map(ProcessId::text));
        line("session", self.leader_session.map(|session| session.to_string()));
        line("ended_ms", self.ended.map(|ended| ended.as_millis().to_string()));
        line("stuck", self.is_stuck.then(|| "1".to_owned()));
        line("told", self.is_told.then(|| "1".to_owned()));
        line("refused", self.refused.as_ref().map(|why| why.replace(['\n', '\0'], " ")));
        text
    }

    fn parse(text: &str) -> Self {
        let mut metadata = Self::default();
        // A last line without its end may be cut in the middle of a number.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "boot" => value.clone_into(&mut metadata.boot_id),
                "since_boot_ms" => metadata.since_boot = Duration::from_millis(value.parse().unwrap_or(0)),
                "pid_namespace" => metadata.life.namespace = value.parse().ok(),
                "pid_1" => metadata.life.first = value.parse().ok(),
                "run" => metadata.run = ProcessId::parse(value),
                "leader" => metadata.leader = ProcessId::parse(value),
                "session" => metadata.leader_session = value.parse().ok(),
                "stuck" => metadata.is_stuck = true,
                "told" => metadata.is_told = true,
                "refused" => metadata.refused = Some(value.to_owned()),
                "ended_ms" => metadata.ended = value.parse().ok().map(Duration::from_millis),
                _ => {}
            }
        }
        metadata
    }
}

impl Site {
    /// How many attempts have left what no tick can remove. None, where the caller may not look.
    pub fn leftovers(&self) -> usize {
        let attempts = self.attempts_on_disk().unwrap_or_default();
        attempts.iter().filter(|attempt| self.lock_metadata(attempt).is_ok_and(|metadata| metadata.is_told)).count()
    }

    /// The metadata of an attempt, read without touching its lock.
    pub fn lock_metadata(&self, attempt: &AttemptId) -> io::Result<LockMetadata> {
        LockMetadata::read(&self.open_own(&self.lock_of(attempt))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> LockMetadata {
        LockMetadata {
            run: Some(ProcessId { pid: 12, start: 3456 }),
            leader: Some(ProcessId { pid: 13, start: 3457 }),
            leader_session: Some(13),
            boot_id: "b7c1".into(),
            life: PidLife { namespace: Some(4_026_531_836), first: Some(12) },
            since_boot: Duration::from_millis(9876),
            ended: Some(Duration::from_millis(9999)),
            is_stuck: true,
            is_told: true,
            refused: Some("cannot fork: no more processes".into()),
        }
    }

    #[test]
    fn metadata_are_read_as_they_were_written_and_shorter_ones_replace_them() {
        let file = tempfile::tempfile().unwrap();
        whole().write(&file).unwrap();
        assert_eq!(LockMetadata::read(&file).unwrap(), whole());
        let early = LockMetadata { leader: None, leader_session: None, ..whole() };
        early.write(&file).unwrap();
        assert_eq!(LockMetadata::read(&file).unwrap(), early);
    }

    #[test]
    fn of_a_cut_or_foreign_file_only_whole_lines_count() {
        assert_eq!(LockMetadata::parse(""), LockMetadata::default());
        assert_eq!(LockMetadata::parse("run 12 34\nleader 13 3").run, Some(ProcessId { pid: 12, start: 34 }));
        assert_eq!(LockMetadata::parse("run 12 34\nleader 13 3").leader, None);
        assert_eq!(LockMetadata::parse("run -1 34\nrun 0 5\nnonsense\n"), LockMetadata::default());
    }
}
