//! The real cron daemon, with the line of `crontab.example`.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use crate::{
    outside::has,
    site::{Site, kill, wait_long_until, wait_until},
    users::{CRON, shared_site, two_users},
};

const TEST: &str = "cron_makes_a_book_that_was_asked_for_and_its_tick_does_not_wait_for_the_exporter";

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

/// The line of the example for plain rounds, without its mark.
fn example_line() -> String {
    let mut example = include_str!("../../crontab.example").lines();
    example
        .find_map(|line| line.strip_prefix('#').filter(|line| line.ends_with(" * pressroom tick")))
        .unwrap()
        .to_owned()
}

#[test]
fn cron_makes_a_book_that_was_asked_for_and_its_tick_does_not_wait_for_the_exporter() {
    if !(has(TEST, "setpriv") && has(TEST, "crontab") && has(TEST, "cron") && two_users(TEST)) {
        return;
    }
    let (site, _) =
        shared_site(r#"touch ../../../going; while [ ! -e ../../../go ]; do sleep 0.05; done; printf book >"$1""#);
    fs::create_dir_all(site.path("s")).unwrap();
    // The exporter's marks lie in the site's directory, which belongs to the test.
    assert!(Command::new("chmod").arg("777").arg(site.dir()).status().unwrap().success());
    site.ask("Emma").exits(75);
    let head = format!(
        "PATH={}:/usr/bin:/bin\nPRESSROOM_CONFIG={}\nMAILTO=\"\"\n",
        site.dir().display(),
        site.config().display()
    );
    let cron = Cron::start(&format!("{head}{}\n", example_line()), &site);
    wait_long_until("cron has started the exporter", || site.path("going").exists());
    wait_until("the tick has let go of its lock", || {
        Command::new("flock").args(["-n"]).arg(site.path("s/tick.lock")).arg("true").status().unwrap().success()
    });
    site.ask("Emma").exits(75).says("started");
    fs::write(site.path("go"), "").unwrap();
    wait_until("the book is there", || site.ask("Emma").output.status.success());
    drop(cron);
}
