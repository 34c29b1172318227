//! The real cron daemon, with the lines of `crontab.example`.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    process::{Child, Command, Stdio},
};

use crate::support::{
    accounts::{CRON, shared_site, two_users},
    outside::has,
    site::{Site, kill, wait_long_until, wait_until},
};

const TEST: &str = "cron_makes_books_by_both_lines_of_the_example_and_no_tick_waits_for_its_exporter";

/// The crontab of the test's user, and the daemon if it was not running; both go with it.
struct Cron {
    daemon: Option<Child>,
}

impl Cron {
    fn start(crontab: &str, site: &Site) -> Self {
        let file = site.path("crontab");
        fs::write(&file, crontab).unwrap();
        assert!(Command::new("crontab").args(["-u", CRON]).arg(file).status().unwrap().success());
        let daemon = Command::new("cron").arg("-f").stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { daemon: Some(daemon) }
    }
}

impl Drop for Cron {
    fn drop(&mut self) {
        let _ = Command::new("crontab").args(["-u", CRON, "-r"]).status();
        self.daemon.take().into_iter().for_each(kill);
    }
}

/// The line that the example recommends: the only one that is not marked as a comment, but for settings.
fn recommended_line() -> &'static str {
    let mut lines = include_str!("../../crontab.example").lines().filter(|line| line.starts_with('*'));
    let line = lines.next().unwrap();
    assert_eq!(lines.next(), None, "there is one recommendation");
    line
}

/// The line of the example for plain rounds, without its mark.
fn plain_line() -> &'static str {
    let mut example = include_str!("../../crontab.example").lines();
    example.find_map(|line| line.strip_prefix('#').filter(|line| line.ends_with(" * pressroom tick"))).unwrap()
}

/// A site of cron's user; the exporter's marks lie in its directory, which belongs to the test.
fn site_with_marks(script: &str) -> Site {
    let (site, _) = shared_site(script);
    assert!(Command::new("chmod").arg("777").arg(site.dir()).status().unwrap().success());
    site
}

/// A line and what stands above it; a later setting of the same crontab takes the place of an earlier one.
fn lines_for(site: &Site, line: &str) -> String {
    let (dir, config) = (site.dir().display(), site.config());
    format!("PATH={dir}:/usr/bin:/bin\nPRESSROOM_CONFIG={}\nMAILTO=\"\"\n{line}\n", config.display())
}

fn is_locked(site: &Site) -> bool {
    !Command::new("flock").args(["-n"]).arg(site.path("s/tick.lock")).arg("true").status().unwrap().success()
}

/// Tells the tick that lingers to stop, and waits for that.
fn end_lingering(site: &Site) {
    let inode = format!(":{} ", fs::metadata(site.path("s/tick.lock")).unwrap().ino());
    wait_until("no tick lingers", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let holder = locks.lines().find(|line| line.contains(&inode)).map(|line| line.split_whitespace().nth(4));
        let pid = holder.flatten().and_then(|pid| pid.parse().ok());
        if let Some(pid) = pid.filter(|pid| *pid > 0) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
        }
        !is_locked(site)
    });
}

/// Both lines in one crontab, so that cron's next minute is waited for once.
#[test]
fn cron_makes_books_by_both_lines_of_the_example_and_no_tick_waits_for_its_exporter() {
    if !(has(TEST, "setpriv") && has(TEST, "crontab") && has(TEST, "cron") && two_users(TEST)) {
        return;
    }
    assert_eq!(recommended_line(), "* * * * * pressroom tick --for 60s");
    let plain =
        site_with_marks(r#"touch ../../../going; while [ ! -e ../../../go ]; do sleep 0.05; done; printf book >"$1""#);
    let lingering = site_with_marks(r#"printf book >"$1""#);
    plain.ask("Emma").exits(75);
    let crontab = lines_for(&plain, plain_line()) + &lines_for(&lingering, recommended_line());
    let cron = Cron::start(&crontab, &plain);
    wait_long_until("cron has started the exporter", || plain.path("going").exists());
    wait_until("the plain tick has let go of its lock", || !is_locked(&plain));
    plain.ask("Emma").exits(75).says("started");
    fs::write(plain.path("go"), "").unwrap();
    wait_until("the book is there", || plain.ask("Emma").output.status.success());
    // The other one is still there, and hears of what is asked for now.
    wait_long_until("a tick lingers", || is_locked(&lingering));
    drop(cron);
    lingering.ask("Nana").exits(75);
    wait_until("the other book is there", || lingering.ask("Nana").output.status.success());
    end_lingering(&lingering);
}
