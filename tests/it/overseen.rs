//! A run looks after its exporter whatever the database does, and takes its time when the exporter has ended.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::support::{
    running::{go, held_by, note, results},
    site::{Done, Site, wait_until},
    strays::nobody_is_left,
    together::{Beside, wait_for_round, wait_for_runs},
};

/// Says when it is asked to end; tells its progress, and once the test has locked the database writes more than a pipe
/// holds.
const TALKER: &str = r#"trap 'echo asked >../../../asked; exit 0' TERM
echo up >../../../up
i=0
while :; do
    i=$((i + 1)); echo "$((i % 100)) step $i" >"$PRESSROOM_PROGRESS"
    if [ -e ../../../locked ] && [ ! -e ../../../heard ]; then head -c 300000 /dev/zero; echo >../../../heard; fi
    sleep 0.05
done"#;

/// A site whose ticks and runs would wait for the database for an hour.
fn talking() -> (Site, Command) {
    let settings = "max_attempts = 1\ntimeout = \"4s\"\nkill_after = \"500ms\"";
    let site = Site::new().exporter_with(TALKER, settings).create();
    site.ask("Emma").exits(75);
    let mut tick = site.command(&["tick", "--allow-root"]);
    tick.env("PRESSROOM_TEST_BUSY", "3600000");
    (site, tick)
}

/// The exporter is heard and ended while the lock is held; then the run records it.
fn is_ended_under(site: &Site, lock: rusqlite::Connection) {
    fs::write(site.path("locked"), "").unwrap();
    wait_until("its output was read", || site.path("heard").exists());
    wait_until("it is asked to end", || site.path("asked").exists());
    drop(lock);
    wait_for_runs(site);
    assert_eq!(results(site), "timeout");
    nobody_is_left(site);
}

#[test]
fn a_limit_holds_while_the_database_cannot_be_written() {
    let (site, mut tick) = talking();
    Done::of(&mut tick).exits(0);
    wait_until("the exporter is up", || site.path("up").exists());
    let lock = site.database();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    is_ended_under(&site, lock);
}

#[test]
fn a_limit_holds_while_the_database_cannot_be_opened() {
    let (site, mut tick) = talking();
    let gate = site.path("gate");
    tick.env("PRESSROOM_FAILPOINT", format!("run-spawned=pause:{}", gate.display()));
    Done::of(&mut tick).exits(0);
    wait_until("the point is reached", || site.path("gate.reached").exists());
    let lock = site.database();
    lock.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET one = 1").unwrap();
    fs::write(gate, "").unwrap();
    is_ended_under(&site, lock);
}

/// Overdue is for exporters that run: an ending may wait for the database for ten minutes, and copy for long.
#[test]
fn an_ending_that_waits_is_not_overdue() {
    let site = Site::new().exporter_with("echo x >\"$1\"", "timeout = \"1s\"\nkill_after = \"1s\"").create();
    site.ask("Emma").exits(75);
    let gate = site.path("gate");
    let mut tick = site.command(&["tick", "--allow-root", "--wait"]);
    tick.env("PRESSROOM_FAILPOINT", format!("run-exporter-ended=pause:{}", gate.display()));
    let tick = Beside::start(&mut tick);
    wait_until("the exporter has ended", || site.path("gate.reached").exists());
    wait_for_round(&site);
    note(&site, "since_boot_ms", "0");
    site.brief_tick().exits(0).stdout("").stderr("");
    fs::write(gate, "").unwrap();
    tick.end().exits(0).stdout("").stderr("");
    assert_eq!(results(&site), "ok");
    site.ask("Emma").exits(0);
}

/// Traces the exporter's shell, and lets it go when the test says so.
const TRACER: &str = r"
import ctypes, os, sys, time
pid, here = int(sys.argv[1]), sys.argv[2]
assert ctypes.CDLL(None).ptrace(0x4206, pid, None, None) == 0 # PTRACE_SEIZE
open(here + '/traced', 'w').close()
while not os.path.exists(here + '/let-go'): time.sleep(0.01)
";

/// An exporter without children: a signal would stop it for its tracer.
const QUIET: &str = r#"exec python3 -c '
import os, time
open("../../../pid", "w").write(str(os.getpid()))
open("../../../up", "a").write("up\n")
while not os.path.exists("../../../go"): time.sleep(0.01)
os._exit(3)'"#;

/// For the kernel a traced process has ended only when its tracer has heard of it.
#[test]
fn a_traced_leader_is_waited_for_and_its_end_is_lost_if_nobody_tells_it() {
    if !crate::support::outside::is_root(
        "a_traced_leader_is_waited_for_and_its_end_is_lost_if_nobody_tells_it",
        "only root may trace everywhere",
    ) {
        return;
    }
    for (kill_after, tells, result) in [("1m", true, "exit"), ("100ms", false, "lost")] {
        let site = held_by(QUIET, &format!("max_attempts = 1\nkill_after = \"{kill_after}\""));
        let pid = fs::read_to_string(site.path("pid")).unwrap().trim().to_owned();
        let mut tracer = Command::new("python3");
        let tracer = tracer.args(["-c", TRACER, &pid]).arg(site.dir()).stdin(Stdio::null());
        let tracer = Beside::start(tracer);
        wait_until("it is traced", || site.path("traced").exists());
        go(&site);
        wait_until("it has ended", || {
            fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
        });
        if tells {
            fs::write(site.path("let-go"), "").unwrap();
        }
        wait_for_runs(&site);
        assert_eq!(results(&site), result);
        let code = site.count("SELECT coalesce(exit_code, -1) FROM attempt");
        assert_eq!(code, if tells { 3 } else { -1 });
        fs::write(site.path("let-go"), "").unwrap();
        tracer.end().exits(0);
    }
}
