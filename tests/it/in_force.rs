//! The configuration in force is the one on the disk, also for a tick that lingers and for a run that has just been
//! claimed; and nothing about the configuration uses up an attempt.

use std::fs;

use crate::support::{
    site::{Site, wait_until},
    together::{Beside, Paused, wait_for_runs},
};

const MEM: &str =
    "[exporter.mem]\ncommand = [\"/bin/sh\", \"-c\", \"echo mem >\\\"$0\\\"\", \"{output}\"]\nfilename = \"mem.txt\"\n";
/// Beats without end.
const BEAT: &str = "[exporter.beat]\noutput = \"none\"\ncommand = [\"/bin/sh\", \"-c\", \"echo beat >>../../../beats\"]\n\
                    [schedule.beat]\nexporter = \"beat\"\nevery = \"1h\"\n";
/// Waits for the test's sign.
const WAITING: &str = "echo up >>../../../up; until [ -e ../../../go ]; do sleep 0.01; done; echo old >\"$1\"";

/// A tick that stays, and what it has said.
struct Lingering(Beside);

impl Lingering {
    #[track_caller]
    fn start(site: &Site) -> Self {
        let said = fs::File::create(site.path("said")).unwrap();
        let tick = Beside::start_into(&mut site.command(&["tick", "--allow-root", "--for", "10min"]), said);
        wait_until("it has begun", || site.count("SELECT count(*) FROM meta WHERE tick_at > 0") == 1);
        Self(tick)
    }

    #[track_caller]
    fn stops(self, site: &Site) -> String {
        wait_for_runs(site);
        self.0.stop().exits(0);
        said(site)
    }
}

fn said(site: &Site) -> String {
    fs::read_to_string(site.path("said")).unwrap_or_default()
}

#[track_caller]
fn made(site: &Site, filename: &str) {
    wait_until(&format!("{filename} is made"), || site.cached(filename).exists());
}

fn ring(site: &Site) {
    fs::write(site.path("s/queue/doorbell"), "!").unwrap();
}

#[test]
fn an_exporter_and_a_schedule_that_are_added_work_at_once() {
    let site = Site::new().create();
    let tick = Lingering::start(&site);
    let site = site.more(&[MEM, BEAT].concat());
    site.run(&["request", "mem"]).exits(75);
    made(&site, "mem/mem.txt");
    wait_until("the schedule is heeded", || site.path("beats").exists());
    let site = site.more("").exporter("echo new >\"$1\"");
    site.ask("Emma").exits(75);
    made(&site, "epub/Emma.epub");
    assert_eq!(fs::read_to_string(site.cached("epub/Emma.epub")).unwrap(), "new\n");
    assert_eq!(tick.stops(&site), "");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
}

/// The old one stays in force, also for runs; it is said once, and `status` names the line.
#[test]
fn a_broken_file_is_told_once_and_what_was_in_force_stays() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\nmax_running = 1\n";
    let site = Site::new().head(head).exporter(WAITING).create();
    site.ask("Emma").exits(75);
    site.ask("Nana").exits(75);
    let tick = Lingering::start(&site);
    wait_until("the first is up", || site.path("up").exists());
    let site = site.more("[cache]\nttl = 5\n");
    let line = fs::read_to_string(site.config()).unwrap().lines().count() - 1;
    ring(&site);
    wait_until("it is told", || said(&site).contains("stays in force"));
    let place = format!("pressroom.toml:{line}:");
    for (format, mark) in [("text", "critical: "), ("json", "\"state\":\"critical\"")] {
        site.run(&["status", "--format", format]).exits(2).says(&place).says(mark);
    }
    site.run(&["status", "--format", "prometheus"]).exits(2).says("pressroom_state 2");
    crate::support::status_site::see(&site, "anna", "").is(500).says(&place);
    for _ in 0..3 {
        ring(&site);
    }
    fs::write(site.path("go"), "").unwrap();
    made(&site, "epub/Emma.epub");
    made(&site, "epub/Nana.epub");
    let site = site.more(MEM);
    site.run(&["request", "mem"]).exits(75);
    made(&site, "mem/mem.txt");
    let told = tick.stops(&site);
    assert!(told.contains(&place) && told.lines().count() == 1, "{told}");
    let activity = fs::read_to_string(site.path("s/log/activity.log")).unwrap();
    let changes = activity.lines().filter(|line| line.contains("\"event\":\"configuration_"));
    let changes: Vec<_> = changes.map(|line| line.contains("configuration_taken")).collect();
    assert_eq!(changes, [false, true], "refused, then taken: {activity}");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result <> 'ok'"), 0);
    site.run(&["status"]).exits(0);
}

#[test]
fn a_file_that_is_missing_or_empty_for_a_while_is_not_taken() {
    for (gone, why) in [(true, "has vanished"), (false, "is empty")] {
        let site = Site::new().create();
        let tick = Lingering::start(&site);
        let text = fs::read(site.config()).unwrap();
        if gone {
            fs::remove_file(site.config()).unwrap();
        } else {
            fs::write(site.config(), "").unwrap();
        }
        for _ in 0..3 {
            ring(&site);
            wait_until("it is told", || said(&site).contains(why));
        }
        fs::write(site.config(), text).unwrap();
        site.ask("Emma").exits(75);
        made(&site, "epub/Emma.epub");
        assert_eq!(tick.stops(&site).lines().count(), 1);
    }
}

#[test]
fn a_tick_ends_when_the_state_directory_is_another_one() {
    let site = Site::new().create();
    let tick = Lingering::start(&site);
    let site = site.head("state_dir = \"t\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n");
    ring(&site);
    let Lingering(tick) = tick;
    tick.end().exits(0);
    assert!(said(&site).contains("state_dir or database has changed; this tick ends"), "{}", said(&site));
    assert_eq!(said(&site).lines().count(), 1);
    site.run(&["check", "--create", "--allow-root"]).exits(0);
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    assert!(site.path("t/cache/epub/Emma.epub").exists());
}

/// Between its claim and its start: as if it had not been claimed.
#[test]
fn a_run_whose_configuration_is_gone_gives_its_job_back() {
    for (gone, changed) in [("broken", "[cache]\nttl = 5\n"), ("without it", MEM)] {
        let site = Site::new().create();
        site.ask("Emma").exits(75);
        let whole = fs::read(site.config()).unwrap();
        let tick = Paused::at(&site, "tick-claimed", &["tick", "--allow-root", "--wait"]);
        fs::write(site.config(), format!("state_dir = \"s\"\n{changed}")).unwrap();
        tick.go_on().exits(0).stderr("");
        fs::write(site.config(), whole).unwrap();
        let states = "SELECT group_concat(status || ' ' || attempts || ' ' || coalesce(result, '-')) FROM job";
        assert_eq!((site.text(states), site.count("SELECT count(*) FROM attempt")), ("0 0 -".into(), 0), "{gone}");
        site.tick().exits(0).stdout("").stderr("");
        site.ask("Emma").exits(0);
    }
}
