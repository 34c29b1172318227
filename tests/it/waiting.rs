//! `--wait`, `--priority` and `--not-before`.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    time::Instant,
};

use crate::support::{
    outside::has,
    site::{Site, wait_until},
    together::Beside,
};

const TITLE: &str = r#"echo "$2" >>../../../runs; echo "$2" >"$1""#;

/// The titles in the order of their runs.
fn order(site: &Site) -> Vec<String> {
    let text = std::fs::read_to_string(site.path("runs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn one_seat() -> Site {
    Site::new().exporter(TITLE).more("[queue.default]\nmax_running = 1\n").create()
}

#[track_caller]
fn run_all(site: &Site) {
    wait_until("the queue is empty", || {
        site.tick().exits(0).stderr("");
        site.count("SELECT count(*) FROM job WHERE waits = 0") == 0
    });
}

#[test]
fn whoever_waits_gets_the_file_when_it_is_there() {
    let site = Site::new().create();
    let waiting = Beside::start(&mut site.command(&["request", "epub", "title=Emma", "--wait", "1min"]));
    wait_until("the job is queued", || site.count("SELECT count(*) FROM job") == 1);
    site.tick().exits(0);
    let path = site.cached("epub/Emma.epub");
    waiting.end().exits(0).stdout(&format!("ready {}\n", path.display())).stderr("");
}

#[test]
fn whoever_waits_is_told_of_the_failure() {
    let site = Site::new().exporter("exit 1").create();
    let waiting = Beside::start(&mut site.command(&["request", "epub", "title=Emma", "--wait", "1min"]));
    wait_until("the job is queued", || site.count("SELECT count(*) FROM job") == 1);
    site.tick().exits(0);
    waiting.end().exits(70).stdout("failed_unknown the export failed\n");
}

#[test]
fn when_the_time_is_over_the_answer_is_how_it_stands() {
    let site = Site::new().create();
    let begun = Instant::now();
    site.run(&["request", "epub", "title=Emma", "--wait", "50ms"]).exits(75).stdout("queued 1\n");
    assert!(begun.elapsed().as_millis() >= 50);
    let answer = site.run(&["request", "epub", "title=Emma", "--wait", "10ms", "--format", "json"]).exits(75).json();
    assert_eq!(answer["position"], 1);
}

/// Says how far it is when the test lets it.
const IN_STEPS: &str = r#"
echo "10 first words" >>"$PRESSROOM_PROGRESS"
until [ -e ../../../on ]; do sleep 0.01; done
echo "60 other words" >>"$PRESSROOM_PROGRESS"
until [ -e ../../../go ]; do sleep 0.01; done
echo whole >"$1""#;

/// On a terminal, which script(1) makes and keeps a record of.
#[test]
fn on_a_terminal_a_bar_shows_each_per_cent_beside_its_own_words() {
    const TEST: &str = "on_a_terminal_a_bar_shows_each_per_cent_beside_its_own_words";
    if !has(TEST, "script") {
        return;
    }
    let site = Site::new().exporter(IN_STEPS).create();
    let line = format!("{} request epub title=Emma --wait 1min", env!("CARGO_BIN_EXE_pressroom"));
    let record = site.path("record");
    let mut script = Command::new("script");
    script.args(["-qfec", &line]).arg(&record).current_dir(site.dir()).env("PRESSROOM_CONFIG", site.config());
    let waiting = Beside::start(script.env("TERM", "xterm").stdin(Stdio::null()));
    let shown = || String::from_utf8_lossy(&std::fs::read(&record).unwrap_or_default()).into_owned();
    wait_until("its place is shown", || shown().contains("  0 % queued, place 1 ("));
    site.brief_tick().exits(0).stderr("");
    wait_until("the first step is shown", || shown().contains(" 10 % first words ("));
    std::fs::write(site.path("on"), "").unwrap();
    wait_until("the other step is shown", || shown().contains(" 60 % other words ("));
    std::fs::write(site.path("go"), "").unwrap();
    waiting.end().exits(0);
    // In between, before it had said anything, nothing else was shown.
    let shown = shown();
    let frames = shown.split(['\r', '\n']).filter(|frame| frame.contains(" % "));
    let frames: BTreeSet<_> =
        frames.map(|frame| frame[frame.find(" % ").unwrap() - 3..].split(" (").next().unwrap()).collect();
    for frame in &frames {
        assert!(
            ["  0 % queued, place 1", "  0 % started", " 10 % first words", " 60 % other words"].contains(frame),
            "{frames:?}"
        );
    }
    assert!(shown.contains(&format!("ready {}", site.cached("epub/Emma.epub").display())), "{shown}");
}

/// One who waits for a newer file is not content with the old one.
#[test]
fn whoever_waits_for_a_newer_file_gets_the_newer_one() {
    let site = Site::new().exporter(TITLE).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let after = jiff::Timestamp::now().to_string();
    let words = ["request", "epub", "title=Emma", "--after", &after, "--wait", "1min"];
    let waiting = Beside::start(&mut site.command(&words));
    wait_until("the job is queued", || site.count("SELECT count(*) FROM job") == 1);
    run_all(&site);
    wait_until("it was made again", || {
        site.tick().exits(0);
        order(&site).len() == 2
    });
    waiting.end().exits(0).says("ready ");
}

#[test]
fn a_wait_that_may_queue_nothing_waits_for_what_others_queued() {
    let site = Site::new().create();
    site.run(&["request", "epub", "title=Emma", "--no-enqueue", "--wait", "1min"]).exits(66).stdout("absent\n");
    site.ask("Emma").exits(75);
    let words = ["request", "epub", "title=Emma", "--no-enqueue", "--wait", "1min"];
    let waiting = Beside::start(&mut site.command(&words));
    site.tick().exits(0);
    waiting.end().exits(0).says("ready ");
}

#[test]
fn a_step_of_priority_is_worth_ten_minutes_of_waiting() {
    let site = one_seat();
    for (title, priority) in [("low", "-4"), ("plain", "0"), ("high", "2"), ("higher", "3")] {
        site.run(&["request", "epub", &format!("title={title}"), "--priority", priority]).exits(75);
    }
    site.ask("high").exits(75).stdout("queued 2\n");
    site.ask("low").exits(75).stdout("queued 4\n");
    site.clock(1200.0);
    site.run(&["request", "epub", "title=late", "--priority", "2"]).exits(75);
    run_all(&site);
    assert_eq!(order(&site), ["higher", "high", "plain", "late", "low"]);
}

/// A client with many books does not hold up the next one's first.
#[test]
fn clients_take_turns() {
    let site = one_seat();
    for (title, client) in [("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob"), ("b2", "bob")] {
        site.run(&["request", "epub", &format!("title={title}"), "--client", client]).exits(75);
    }
    run_all(&site);
    assert_eq!(order(&site), ["a1", "b1", "a2", "b2", "a3"]);
}

#[test]
fn a_job_is_not_started_before_not_before() {
    let site = Site::new().exporter(TITLE).create();
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(300)).to_string();
    site.run(&["request", "epub", "title=Emma", "--not-before", &later]).exits(75).says("queued 1");
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT waits FROM job"), 1);
    site.clock(240.0);
    site.tick().exits(0).stderr("");
    assert_eq!(order(&site).len(), 0);
    site.clock(301.0);
    site.tick().exits(0);
    site.ask("Emma").exits(0);
}
