//! When the last round was, written into `tick.lock` by the tick that holds it.
//!
//! The database says the same to requests and to `status`. But whoever may write the database must not be able to stop
//! pruning by it, and on a full disk it cannot be written at all: the mark of a round is overwritten in place, which
//! needs no space.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Site, dir::open_regular, lock::absent_is_fine};
use crate::model::clock::{Doubt, Stamp, TickMark};

/// A round, and how long after the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundMark {
    pub round: TickMark,
    /// Zero: not known.
    pub gap: Duration,
    /// The clock was not believed then.
    pub doubt: Option<Doubt>,
    /// The last tick as it was last written into the database; 0: never. One that says less is older than this.
    pub database: Stamp,
    /// The highest id of a job then.
    pub last_job: i64,
    /// Of the database's file then; 0: not known.
    pub inode: u64,
}

impl RoundMark {
    /// Of a round before which there was none.
    pub const fn first(round: TickMark) -> Self {
        Self { round, gap: Duration::ZERO, doubt: None, database: Stamp(0), last_job: 0, inode: 0 }
    }

    /// Writes the mark into the open `tick.lock` in place of the earlier one, which has the same length.
    pub fn write(&self, lock: &File) -> io::Result<()> {
        lock.write_all_at(self.text().as_bytes(), 0)
    }

    /// `None`: no round has been marked, or not by us.
    pub fn read(lock: &File) -> Option<Self> {
        let mut text = [0; 512];
        let length = lock.read_at(&mut text, 0).ok()?;
        Self::parse(std::str::from_utf8(&text[..length]).ok()?)
    }

    fn text(&self) -> String {
        let TickMark { at, since_boot, boot_id } = &self.round;
        let (boot, gap) = (since_boot.as_millis(), self.gap.as_millis());
        let mark = format!("at_ms {:020}\nsince_boot_ms {boot:020}\ngap_ms {gap:020}\nboot {boot_id:36}\n", at.0);
        let nothing = Doubt { right: *at, is_exact: false, from: *at, steady: Duration::ZERO };
        let Doubt { right, is_exact, from, steady } = self.doubt.as_ref().unwrap_or(&nothing);
        let (is_doubted, exact, steady) = (u8::from(self.doubt.is_some()), u8::from(*is_exact), steady.as_millis());
        let doubt = format!("right_ms {:020}\nexact {exact}\nfrom_ms {:020}\n", right.0, from.0);
        let (database, last_job, inode) = (self.database.0, self.last_job, self.inode);
        let database = format!("database_ms {database:020}\nlast_job {last_job:020}\ninode {inode:020}\n");
        format!("{mark}{database}doubted {is_doubted}\n{doubt}steady_ms {steady:020}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let at = Stamp(value("at_ms")?.parse().ok()?);
        let since_boot = Duration::from_millis(value("since_boot_ms")?.parse().ok()?);
        let gap = Duration::from_millis(value("gap_ms")?.parse().ok()?);
        let boot_id = value("boot")?.trim().to_owned();
        let round = TickMark { at, since_boot, boot_id };
        // An earlier pressroom has written no more.
        let database = Stamp(value("database_ms").and_then(|ms| ms.parse().ok()).unwrap_or(0));
        let last_job = value("last_job").and_then(|id| id.parse().ok()).unwrap_or(0);
        let inode = value("inode").and_then(|inode| inode.parse().ok()).unwrap_or(0);
        let doubt = if value("doubted") == Some("1") { Self::parse_doubt(value) } else { None };
        Some(Self { round, gap, doubt, database, last_job, inode })
    }

    fn parse_doubt<'a>(mut value: impl FnMut(&str) -> Option<&'a str>) -> Option<Doubt> {
        Some(Doubt {
            right: Stamp(value("right_ms")?.parse().ok()?),
            is_exact: value("exact")? == "1",
            from: Stamp(value("from_ms")?.parse().ok()?),
            steady: Duration::from_millis(value("steady_ms")?.parse().ok()?),
        })
    }
}

fn read(path: &Path) -> Option<RoundMark> {
    RoundMark::read(&open_regular(path, OpenOptions::new().read(true)).ok()?)
}

impl Site {
    /// The mark of the last round, for who only looks: the lock itself is not tried.
    ///
    /// Nobody but the owner may open the lock; others read the copy that there is while the clock is not believed.
    pub fn last_round(&self) -> Option<RoundMark> {
        read(&self.tick_lock()).or_else(|| read(&self.doubted_round()))
    }

    fn doubted_round(&self) -> PathBuf {
        self.state_dir().join("tick.doubt")
    }

    /// For the status page: a copy of the mark for the group to read, or none.
    pub fn show_doubt(&self, mark: &RoundMark) -> io::Result<()> {
        if mark.doubt.is_none() {
            return absent_is_fine(fs::remove_file(self.doubted_round()));
        }
        let mut how = OpenOptions::new();
        let how = how.write(true).create(true).truncate(false).mode(0o640);
        let file = open_regular(&self.doubted_round(), how)?;
        file.set_permissions(Permissions::from_mode(0o640))?; // whatever the umask is
        mark.write(&file)
    }

    /// The admin has said that the clock is right at this moment. Read and removed by the next full round.
    pub fn accepted_clock(&self) -> PathBuf {
        self.state_dir().join("tick.clock")
    }

    pub fn accept_clock(&self, round: TickMark) -> io::Result<()> {
        let path = self.accepted_clock();
        absent_is_fine(fs::remove_file(&path))?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        RoundMark::first(round).write(&file)
    }

    /// What the admin has said since the last full round.
    pub fn take_accepted_clock(&self) -> Option<RoundMark> {
        let path = self.accepted_clock();
        let mark = read(&path);
        if mark.is_some() {
            let _ = fs::remove_file(path); // what stays is an old moment of another boot some day
        }
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_the_clock_is_doubted_the_group_reads_the_mark() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::new(dir.path().to_owned());
        let round = TickMark { at: Stamp(5), since_boot: Duration::ZERO, boot_id: "b".into() };
        let doubt = Doubt { right: Stamp(1), is_exact: true, from: Stamp(5), steady: Duration::ZERO };
        let doubted = RoundMark { doubt: Some(doubt), ..RoundMark::first(round.clone()) };
        site.show_doubt(&doubted).unwrap();
        assert_eq!(site.last_round(), Some(doubted));
        assert_eq!(fs::metadata(site.doubted_round()).unwrap().permissions().mode() & 0o777, 0o640);
        site.show_doubt(&RoundMark::first(round)).unwrap();
        assert_eq!(site.last_round(), None);
    }

    /// As an earlier pressroom has left it.
    #[test]
    fn a_mark_without_a_word_about_the_clock_is_read() {
        let text = format!("at_ms {:020}\nsince_boot_ms {:020}\ngap_ms {:020}\nboot {:36}\n", 5, 6, 7, "b");
        let mark = RoundMark::parse(&text).unwrap();
        assert_eq!((mark.round.at, mark.gap, mark.doubt), (Stamp(5), Duration::from_millis(7), None));
        assert_eq!((mark.database, mark.last_job, mark.inode), (Stamp(0), 0, 0));
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_takes_no_more_room_than_the_one_before() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(RoundMark::read(&file), None);
        for (at, boot) in [(1_800_000_000_123, "b7c1b7c1-0000-4000-8000-b7c1b7c1b7c1"), (-5, "")] {
            let round = TickMark { at: Stamp(at), since_boot: Duration::from_millis(77), boot_id: boot.into() };
            let steady = Duration::from_mins(7);
            let doubt = Doubt { right: Stamp(at - 9), is_exact: at > 0, from: Stamp(at + 9), steady };
            for doubt in [Some(doubt), None] {
                let first = RoundMark::first(round.clone());
                let (database, last_job, inode) = (Stamp(at), 9, u64::MAX);
                let mark = RoundMark { gap: Duration::from_mins(15), doubt, database, last_job, inode, ..first };
                mark.write(&file).unwrap();
                assert_eq!(RoundMark::read(&file), Some(mark));
                assert_eq!(file.metadata().unwrap().len(), 330);
            }
        }
    }
}
