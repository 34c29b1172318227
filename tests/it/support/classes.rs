//! What the tests of job classes share: requests of any exporter, queues that are paused, ticks until all is done.

use std::{fs, process::Command};

use super::site::{Done, Site, wait_until};

/// The exporter `epub`, which notes each of its runs in `runs`.
pub const NOTING: &str = r#"echo "$2" >>../../../runs; echo "$2" >"$1""#;

/// A PDF in a queue of its own, and another format in that of its source.
pub const DERIVED_QUEUES: &str = r#"
[queue.paper]
max_per_client = 1
new_per_client = "1/10m"
[exporter.pdf]
queue = "paper"
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
[exporter.same]
source = "epub"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.txt"
"#;

/// The lines of a file beside the site; none if it is not there.
pub fn lines(site: &Site, name: &str) -> Vec<String> {
    let text = fs::read_to_string(site.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A file for an exporter that waits for it.
pub fn touch(site: &Site, name: &str) {
    fs::write(site.path(name), "").expect("a file beside the site");
}

/// Asks with these words, as on a command line.
#[track_caller]
pub fn request(site: &Site, words: &str) -> Done {
    let words: Vec<_> = ["request"].into_iter().chain(words.split_whitespace()).collect();
    site.run(&words)
}

/// A shell that finds the program as `pressroom`.
pub fn shell(site: &Site, script: &str) -> Command {
    let program = site.command::<&str>(&[]);
    let dir = std::path::Path::new(program.get_program()).parent().expect("it lies in a directory");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(site.dir()).env_clear().stdin(std::process::Stdio::null());
    command.env("PATH", format!("{}:/usr/bin:/bin", dir.display())).env("PRESSROOM_CONFIG", site.config());
    command.env("PRESSROOM_TEST_CLOCK", site.path("clock"));
    command
}

/// Opens a queue, pauses it or lets it drain.
#[track_caller]
pub fn set_mode(site: &Site, queue: &str, mode: &str) {
    let verb = match mode {
        "paused" => "pause",
        "draining" => "drain",
        _ => "resume",
    };
    site.run(&["queues", verb, queue]).exits(0);
}

/// Jobs that are at work, or wait for nothing but a seat.
const LEFT: &str = "
    SELECT count(*) FROM job
     WHERE status = 1 OR status = 0 AND waits = 0 AND queue NOT IN (SELECT name FROM queue WHERE mode <> 'open')";

/// Ticks until none is left.
#[track_caller]
pub fn run_all(site: &Site) {
    wait_until("all jobs have run", || {
        site.tick().exits(0);
        site.count(LEFT) == 0
    });
}

/// How many runs of an exporter were begun.
pub fn attempts(site: &Site, exporter: &str) -> i64 {
    site.count(&format!("SELECT count(*) FROM attempt WHERE exporter = '{exporter}'"))
}

/// Sets the clock ahead and ticks twice: after a jump the first round lets nothing expire.
#[track_caller]
pub fn later(site: &Site, seconds: f64) {
    site.clock(seconds);
    site.tick().exits(0);
    site.tick().exits(0);
}

/// As if the machine had been started anew: then the clock that nobody sets tells nothing about the time between.
pub fn forget_the_boot(site: &Site) {
    let mark = fs::read_to_string(site.path("s/tick.lock")).unwrap();
    let (before, _) = mark.rsplit_once("boot ").unwrap();
    fs::write(site.path("s/tick.lock"), format!("{before}boot {:36}\n", "an earlier one")).unwrap();
}
