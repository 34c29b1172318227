//! When the last round was, written into `tick.lock` by the tick that holds it.
//!
//! The database says the same to requests and to `status`. But whoever may write the database must not be able to stop
//! pruning by it, and on a full disk it cannot be written at all: the mark of a round is overwritten in place, which
//! needs no space.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    time::Duration,
};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::Site;
use crate::model::clock::{Stamp, TickMark};

/// A round, and how long after the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundMark {
    pub round: TickMark,
    /// Zero: not known.
    pub gap: Duration,
}

impl RoundMark {
    /// Writes the mark into the open `tick.lock` in place of the earlier one, which has the same length.
    pub fn write(&self, lock: &File) -> io::Result<()> {
        lock.write_all_at(self.text().as_bytes(), 0)
    }

    /// `None`: no round has been marked, or not by us.
    pub fn read(lock: &File) -> Option<Self> {
        let mut text = [0; 256];
        let length = lock.read_at(&mut text, 0).ok()?;
        Self::parse(std::str::from_utf8(&text[..length]).ok()?)
    }

    fn text(&self) -> String {
        let TickMark { at, since_boot, boot_id } = &self.round;
        let (boot, gap) = (since_boot.as_millis(), self.gap.as_millis());
        format!("at_ms {:020}\nsince_boot_ms {boot:020}\ngap_ms {gap:020}\nboot {boot_id:36}\n", at.0)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let at = Stamp(value("at_ms")?.parse().ok()?);
        let since_boot = Duration::from_millis(value("since_boot_ms")?.parse().ok()?);
        let gap = Duration::from_millis(value("gap_ms")?.parse().ok()?);
        let boot_id = value("boot")?.trim().to_owned();
        Some(Self { round: TickMark { at, since_boot, boot_id }, gap })
    }
}

impl Site {
    /// The mark of the last round, for who only looks: the lock itself is not tried.
    pub fn last_round(&self) -> Option<RoundMark> {
        let flags = O_NOFOLLOW | O_NONBLOCK;
        RoundMark::read(&OpenOptions::new().read(true).custom_flags(flags).open(self.tick_lock()).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_takes_no_more_room_than_the_one_before() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(RoundMark::read(&file), None);
        for (at, boot) in [(1_800_000_000_123, "b7c1b7c1-0000-4000-8000-b7c1b7c1b7c1"), (-5, "")] {
            let round = TickMark { at: Stamp(at), since_boot: Duration::from_millis(77), boot_id: boot.into() };
            let mark = RoundMark { round, gap: Duration::from_mins(15) };
            mark.write(&file).unwrap();
            assert_eq!(RoundMark::read(&file), Some(mark));
            assert_eq!(file.metadata().unwrap().len(), 132);
        }
    }
}
