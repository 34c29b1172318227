//! What cannot be killed keeps its slot, and every round says why. Never more than N: the next job waits.

use std::{process::Command, time::Instant};

use crate::support::{
    running::{HELD, go, kill_run, note, noted, results, start},
    site::{Site, wait_until},
    together::{Beside, wait_for_runs},
};

fn start_of(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned()
}

#[test]
fn what_cannot_be_killed_keeps_its_slot_and_each_round_says_why() {
    if !crate::support::outside::is_root(
        "what_cannot_be_killed_keeps_its_slot_and_each_round_says_why",
        "only root has what others cannot kill",
    ) {
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

/// Known ones are looked at by full rounds, which kill them once more and do not wait, and not when somebody rings.
#[test]
fn trees_that_cannot_be_ended_hold_up_no_ring() {
    if !crate::support::outside::is_root(
        "trees_that_cannot_be_ended_hold_up_no_ring",
        "only root has what others cannot kill",
    ) {
        return;
    }
    let site = Site::new().exporter(HELD).more("[queue.default]\nmax_running = 4\n").by_nobody().create();
    site.ask("Emma").exits(75);
    start(&site);
    let stranger = Beside::start(Command::new("sleep").arg("1000"));
    note(&site, "leader", &format!("{} {}", stranger.id(), start_of(stranger.id())));
    kill_run(&site);
    site.brief_tick().exits(0).warns("keeps its slot: process ");
    assert_eq!(noted(&site, "stuck"), "1");
    go(&site);
    let log = site.path("said");
    let said = || std::fs::read_to_string(&log).unwrap_or_default().matches("keeps its slot").count();
    let begun = Instant::now();
    let mut lingering = site.command(&["tick", "--for", "10min"]);
    let lingering = Beside::start_into(&mut lingering, std::fs::File::create(&log).unwrap());
    wait_until("the first round is over", || said() > 0);
    for title in ["Nana", "Candide", "Bovary", "Germinal"] {
        site.ask(title);
        wait_until("it is made on a ring", || site.ask(title).output.status.code() == Some(0));
    }
    // Each request and each end is a ring; only a full round, at most each 15 s, looks at what is stuck.
    let rounds = 2 + usize::try_from(begun.elapsed().as_secs() / 15).unwrap();
    assert!(said() <= rounds, "{} looks in {rounds} full rounds", said());
    drop(lingering);
    drop(stranger);
    site.tick().exits(0).stderr("");
    assert!(results(&site).contains("lost"));
}
