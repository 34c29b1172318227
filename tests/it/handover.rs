//! One lingering tick follows another: no ring and no end of a run is lost between them, one successor waits and no
//! more, and whoever is killed leaves the rest to the next.

use std::{fs, path::PathBuf};

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, wait_for_runs},
};

mod due;
mod ends;
mod places;
mod rings;

/// A tick that lingers, and stops at the points that the test names.
struct Tick {
    beside: Beside,
    /// What the names of its gates begin with.
    gates: PathBuf,
}

impl Tick {
    fn start(site: &Site, name: &str, time: &str, points: &[&str]) -> Self {
        let gates = site.path(name);
        let pause = |point: &&str| format!("{point}=pause:{}-{point}", gates.display());
        let points: Vec<_> = points.iter().map(pause).collect();
        let mut command = site.command(&["tick", "--allow-root", "--for", time]);
        Self { beside: Beside::start(command.env("PRESSROOM_FAILPOINT", points.join(" "))), gates }
    }

    /// One whose time is over at once: it makes one round, and stops while it still holds the lock.
    #[track_caller]
    fn old(site: &Site) -> Self {
        let old = Self::start(site, "old", "0s", &["linger-over"]);
        old.reaches("linger-over");
        old
    }

    /// One that stays, and stops at these points.
    fn next(site: &Site, points: &[&str]) -> Self {
        Self::start(site, "next", "10min", points)
    }

    fn gate(&self, point: &str, ending: &str) -> PathBuf {
        format!("{}-{point}{ending}", self.gates.display()).into()
    }

    #[track_caller]
    fn reaches(&self, point: &str) {
        let reached = self.gate(point, ".reached");
        wait_until(&format!("{point} is reached"), || reached.exists());
    }

    #[track_caller]
    fn leaves(&self, point: &str) {
        fs::write(self.gate(point, ""), "").expect("the gate opens");
    }

    /// Returns once it sleeps before the lock that somebody else holds.
    #[track_caller]
    fn sleeps(&self) {
        let waits = |line: &str| line.contains("-> FLOCK") && line.contains(&format!(" {} ", self.beside.id()));
        wait_until("it waits for the lock", || fs::read_to_string("/proc/locks").unwrap().lines().any(waits));
    }

    /// The end of an old tick that is let go.
    #[track_caller]
    fn ends(self) {
        self.leaves("linger-over");
        self.beside.end().exits(0).stdout("").stderr("");
    }

    /// It works, and ends when it is asked to.
    #[track_caller]
    fn stops(self) {
        self.beside.stop().exits(0).stdout("").stderr("");
    }
}

/// Without a tick of the test's own: whoever lingers makes it.
#[track_caller]
fn made(site: &Site, title: &str) {
    wait_until(&format!("{title} is made"), || site.cached(&format!("epub/{title}.epub")).exists());
}

/// Says that it is up, and waits for the sign.
const WAITING: &str = r#"echo up >>../../../up; until [ -e ../../../go ]; do sleep 0.01; done; echo whole >"$1""#;
