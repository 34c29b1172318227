//! One works, one waits, and everybody else has nothing to do.

use super::*;
use crate::support::{admin::is_alive, site::Done};

#[test]
fn a_third_lingering_tick_exits_at_once_while_one_works_and_one_waits() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    let next = Tick::next(&site, &["linger-waits"]);
    next.reaches("linger-waits");
    let third = || site.run(&["tick", "--allow-root", "--for", "10min"]);
    third().exits(0).stdout("").stderr("");
    next.leaves("linger-waits");
    next.sleeps();
    third().exits(0).stdout("").stderr("");
    // Of many that come at once one waits, once the place is free again.
    old.ends();
    site.ask("Emma").exits(75);
    made(&site, "Emma");
    let many: Vec<_> = (0..6).map(|number| Tick::start(&site, &format!("many{number}"), "10min", &[])).collect();
    let alive = |tick: &Tick| is_alive(tick.beside.id().cast_signed());
    wait_until("one of them is left", || many.iter().filter(|tick| alive(tick)).count() == 1);
    for tick in many {
        if alive(&tick) {
            tick.sleeps();
            tick.beside.stop().dies_of(15).stdout("").stderr("");
        } else {
            tick.beside.end().exits(0).stdout("").stderr("");
        }
    }
    next.stops();
}

#[test]
fn a_plain_tick_beside_them_exits_at_once() {
    let site = Site::new().create();
    let old = Tick::old(&site);
    site.brief_tick().exits(0).stdout("").stderr("");
    let next = Tick::next(&site, &["linger-waits", "linger-took-lock"]);
    next.reaches("linger-waits");
    site.ask("Emma").exits(75);
    site.tick().exits(0).stdout("").stderr("");
    next.leaves("linger-waits");
    old.ends();
    next.reaches("linger-took-lock");
    site.tick().exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    next.leaves("linger-took-lock");
    made(&site, "Emma");
    wait_for_runs(&site);
    next.stops();
}

/// While it cannot print on, everybody else gets both locks.
#[test]
fn a_dry_run_beside_them_prints_and_takes_neither_lock() {
    // The command line is longer than a pipe holds.
    let site = Site::new().exporter(&format!("# {}\necho whole >\"$1\"", "x".repeat(100_000))).create();
    site.ask("Emma").exits(75);
    let dry = PartlyRead::start(&site, &["tick", "--allow-root", "--dry-run"]);
    let old = Tick::old(&site);
    let next = Tick::next(&site, &["linger-waits"]);
    next.reaches("linger-waits");
    site.ask("Nana").exits(75);
    site.run(&["tick", "--allow-root", "--dry-run"]).exits(0).says(" job 2 (epub/Nana.epub)").stderr("");
    next.leaves("linger-waits");
    old.ends();
    made(&site, "Nana");
    wait_for_runs(&site);
    next.stops();
    dry.end().exits(0).says("laim job 1 (epub/Emma.epub)").stderr("");
}

/// A program of whose output one byte was read, so that it has begun to write and cannot end.
struct PartlyRead(std::process::Child);

impl PartlyRead {
    fn start(site: &Site, words: &[&str]) -> Self {
        use std::{io::Read, process::Stdio};
        let mut command = site.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("a byte");
        Self(child)
    }

    #[track_caller]
    fn end(mut self) -> Done {
        assert!(self.0.try_wait().unwrap().is_none(), "it has ended before all was read");
        Done { what: "the dry run".into(), output: self.0.wait_with_output().expect("its output") }
    }
}
