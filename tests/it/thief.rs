//! Something else reads the doorbell and swallows its rings: what was asked for is started all the same.

use std::{fs, process::Command, time::Duration};

use nix::sys::signal::Signal;

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, wait_for_runs},
};

/// A tick that stays, and a reader that has taken every ring by the time that the tick can hear it.
struct Deaf<'a> {
    site: &'a Site,
    tick: Beside,
    thief: Beside,
}

impl<'a> Deaf<'a> {
    fn start(site: &'a Site) -> Self {
        let tick = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "10min"]));
        wait_until("it has begun", || site.count("SELECT count(*) FROM meta WHERE tick_at > 0") == 1);
        let taken = fs::File::create(site.path("taken")).unwrap();
        let thief = Beside::start_into(Command::new("cat").arg(site.path("s/queue/doorbell")), taken);
        Self { site, tick, thief }
    }

    /// Does something that rings, so that the tick does not hear it.
    fn unheard(&self, deed: impl FnOnce()) {
        let taken = || fs::metadata(self.site.path("taken")).unwrap().len();
        let before = taken();
        self.stop_between_rounds();
        deed();
        wait_until("the ring is swallowed", || taken() > before);
        self.tick.signal(Signal::SIGCONT);
    }

    /// Not while it holds the database.
    fn stop_between_rounds(&self) {
        let database = self.site.database();
        database.busy_timeout(Duration::ZERO).unwrap();
        wait_until("it is between two rounds", || {
            self.tick.signal(Signal::SIGSTOP);
            let stat = format!("/proc/{}/stat", self.tick.id());
            wait_until("it is stopped", || fs::read_to_string(&stat).unwrap().contains(") T "));
            let is_free = database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok();
            if !is_free {
                self.tick.signal(Signal::SIGCONT);
            }
            is_free
        });
    }

    fn stops(self) {
        wait_for_runs(self.site);
        drop(self.thief);
        self.tick.stop().exits(0).stdout("").stderr("");
    }
}

#[test]
fn what_is_asked_for_is_started_though_the_ring_is_swallowed() {
    let site = Site::new().create();
    let tick = Deaf::start(&site);
    for title in ["Emma", "Nana", "Zadig"] {
        tick.unheard(|| {
            site.ask(title).exits(75);
        });
        wait_until("it is made", || site.cached(&format!("epub/{title}.epub")).exists());
    }
    site.run(&["queues", "pause", "default"]).exits(0);
    site.ask("Candide").exits(75);
    tick.unheard(|| {
        site.run(&["queues", "resume", "default"]).exits(0);
    });
    wait_until("a resumed queue goes on", || site.cached("epub/Candide.epub").exists());
    tick.stops();
}
