//! What cannot be killed keeps its slot, and every round says why. Never more than N: the next job waits.

use std::process::Command;

use nix::unistd::geteuid;

use crate::{
    running::{HELD, go, kill_run, note, results, start},
    site::Site,
    together::{Beside, wait_for_runs},
};

fn start_of(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned()
}

#[test]
fn what_cannot_be_killed_keeps_its_slot_and_each_round_says_why() {
    if !geteuid().is_root() {
        eprintln!(
            "SKIPPED: what_cannot_be_killed_keeps_its_slot_and_each_round_says_why: only root has what others cannot kill"
        );
        return;
    }
    let site = Site::new().exporter(HELD).more("[queue.default]\nmax_running = 1\n").by_nobody().create();
    site.ask("Emma").exits(75);
    start(&site);
    // Somebody else's process stands in for one that sleeps uninterruptibly.
    let stranger = Beside::start(Command::new("sleep").arg("1000"));
    note(&site, "leader", &format!("{} {}", stranger.id(), start_of(stranger.id())));
    kill_run(&site);
    site.ask("Nana").exits(75).stdout("queued 1\n");
    for _ in 0..2 {
        site.brief_tick()
            .exits(0)
            .warns("job 1 (epub/Emma.epub) keeps its slot: process ")
            .warns("(sleep) cannot be killed: Operation not permitted");
        site.ask("Emma").exits(75).says("started");
        site.ask("Nana").exits(75).stdout("queued 1\n");
        assert_eq!(results(&site), "-");
    }
    drop(stranger);
    site.brief_tick().exits(0).stderr("");
    assert_eq!(site.text("SELECT result FROM attempt WHERE filename = 'epub/Emma.epub'"), "lost");
    site.ask("Nana").exits(75).says("started");
    go(&site);
    wait_for_runs(&site);
    site.ask("Nana").exits(0);
}
