//! SIGKILL at random moments of runs and ticks, under load, until the queue is empty.
//!
//! For so many seconds as `PRESSROOM_TORTURE` says, else a short while; `PRESSROOM_TORTURE_SEED` repeats the choices of
//! an earlier time, though not its moments.

use std::{
    fs::{self, File},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::support::{
    dice::{Dice, number, tick, victims},
    site::{Site, wait_until},
    strays::nobody_is_left,
    together::Beside,
};

/// Holds a lock on its title as long as anything of its tree lives, and tells of another one that does. Some leave
/// daemons, some fail, some have to be killed at their time. (What leaves the session *and* wipes its environment cannot
/// be found once its run is dead.)
const SCRIPT: &str = r#"cd ../../..
exec 9>>busy/"$2"
flock -n 9 || echo "$2" >>twice
echo "$2" >>runs
case $2 in
*1) (setsid sleep 1000 &); sleep 0.05;;
*2) sleep 0.2;;
*3) exit 1;;
*4) trap '' TERM; sleep 1000;;
*5) env -i sleep 1000 & sleep 0.03;;
esac
printf half >"$1"
sleep 0.01
printf ' and half\n' >>"$1""#;

const SETTINGS: &str = "timeout = \"300ms\"\nkill_after = \"100ms\"\nmax_attempts = 4\nretry_delay = \"20ms\"\n\
    escalate = 1.0\nttl = \"1h\"\nfailure_ttl = \"1h\"\nbreaker = { failures = 1000, pause = \"1s\" }";

struct Torture<'a> {
    site: &'a Site,
    over: AtomicBool,
    kills: AtomicUsize,
}

impl Torture<'_> {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    fn kill(&self, mut dice: Dice) {
        while self.goes_on() {
            let victims = victims(self.site);
            if !victims.is_empty() {
                let victim = victims[usize::try_from(dice.roll(victims.len() as u64)).expect("fits")];
                // It was ours a moment ago.
                if kill(Pid::from_raw(victim), Signal::SIGKILL).is_ok() {
                    self.kills.fetch_add(1, Ordering::Relaxed);
                }
            }
            thread::sleep(Duration::from_millis(dice.roll(120)));
        }
    }

    fn ask(&self, mut dice: Dice, titles: u64) {
        while self.goes_on() {
            let title = format!("title=book{}", dice.roll(titles));
            let done = self.site.run(&["request", "epub", &title]);
            let code = done.output.status.code();
            assert!([0, 75, 70].map(Some).contains(&code), "{code:?} {}{}", done.out(), done.err());
            thread::sleep(Duration::from_millis(dice.roll(200)));
        }
    }

    fn tick(&self, words: &[&str]) {
        while self.goes_on() {
            let said = File::options().append(true).create(true).open(self.site.path("said")).expect("a file");
            Beside::start_into(&mut tick(self.site, words), said).end();
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn torture(site: &Site, time: Duration, seed: u64) -> usize {
    let titles = 60 + 2 * time.as_secs();
    let torture = Torture { site, over: AtomicBool::new(false), kills: AtomicUsize::new(0) };
    thread::scope(|scope| {
        scope.spawn(|| torture.kill(Dice(seed)));
        scope.spawn(|| torture.ask(Dice(seed + 1), titles));
        scope.spawn(|| torture.ask(Dice(seed + 2), titles));
        scope.spawn(|| torture.tick(&["--for", "3s"]));
        scope.spawn(|| torture.tick(&[]));
        let end = Instant::now() + time;
        while Instant::now() < end {
            thread::sleep(Duration::from_millis(50));
        }
        torture.over.store(true, Ordering::Relaxed);
    });
    torture.kills.into_inner()
}

/// A tick that nobody kills stays until nothing is queued or started.
fn calm_down(site: &Site) {
    let said = File::options().append(true).create(true).open(site.path("said")).expect("a file");
    let marked = || site.count("SELECT coalesce(tick_at, 0) FROM meta");
    let before = marked();
    let stays = Beside::start_into(&mut tick(site, &["--for", "1h"]), said);
    let pending = || site.count("SELECT count(*) FROM job WHERE status < 2");
    let mut last = pending();
    while last > 0 {
        wait_until("the queue becomes shorter", || pending() < last);
        last = pending();
    }
    wait_until("it has done a round, so that it hears what it is told", || marked() > before);
    stays.stop().exits(0);
    wait_until("all ends are told and swept", || site.tick().err().is_empty() && site.names("s/work").is_empty());
}

/// Books that were asked for and are neither in the cache nor failed.
fn unanswered(site: &Site) -> Vec<String> {
    let runs = fs::read_to_string(site.path("runs")).unwrap_or_default();
    let mut titles: Vec<&str> = runs.lines().collect();
    titles.sort_unstable();
    titles.dedup();
    let stands = |title: &&str| {
        let answer = site.run(&["request", "epub", &format!("title={title}"), "--no-enqueue"]);
        let whole = || {
            fs::read_to_string(site.cached(&format!("epub/{title}.epub"))).is_ok_and(|text| text == "half and half\n")
        };
        match answer.output.status.code() {
            Some(0) => whole(),
            Some(70) => true,
            _ => false,
        }
    };
    titles.into_iter().filter(|title| !stands(title)).map(str::to_owned).collect()
}

#[test]
fn whatever_is_killed_every_job_ends_as_a_file_or_as_a_recorded_failure() {
    let time = Duration::from_secs(number("PRESSROOM_TORTURE").unwrap_or(15));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let seed = number("PRESSROOM_TORTURE_SEED").unwrap_or_else(now);
    let more = "[queue.default]\nmax_running = 4\nmax_queued = 100000\n";
    let site = Site::new().exporter_with(SCRIPT, SETTINGS).more(more).create();
    fs::create_dir(site.path("busy")).unwrap();

    let kills = torture(&site, time, seed);
    calm_down(&site);
    eprintln!("seed {seed}: {kills} kills, {} attempts", site.count("SELECT count(*) FROM attempt"));

    assert_eq!(fs::read_to_string(site.path("twice")).unwrap_or_default(), "", "seed {seed}: two at once");
    assert_eq!(unanswered(&site), [""; 0], "seed {seed}");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"), 0, "seed {seed}");
    let strange =
        "SELECT count(*) FROM job LEFT JOIN attempt ON attempt.id = job.attempt WHERE job.result IS NOT attempt.result";
    assert_eq!(site.count(strange), 0, "seed {seed}: every failure is recorded");
    nobody_is_left(&site);
    assert_eq!(site.names("s/work"), [""; 0], "seed {seed}");
    assert!(site.names("s/cache/epub").iter().all(|name| !name.starts_with('.')), "seed {seed}");
    assert_eq!(site.text("PRAGMA integrity_check"), "ok");
}
