//! The web server's user and the crontab's user are two, sharing one group, whatever their umasks.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::unistd::Uid;

use crate::{
    outside::skipped,
    site::{Done, Site},
};

pub const CRON: &str = "prtest-cron";
pub const WEB: &str = "prtest-web";
const SHARED: &str = "prtest";

/// Makes the two users and their group where that is possible. `false`: the test is skipped.
pub fn two_users(test: &str) -> bool {
    if !Uid::effective().is_root() {
        skipped(test, "only root can become two users");
        return false;
    }
    let run = |program: &str, words: &[&str]| Command::new(program).args(words).stderr(Stdio::null()).status();
    let _ = run("groupadd", &["--system", "--force", SHARED]);
    for user in [CRON, WEB] {
        let _ = run("useradd", &["--system", "--no-create-home", "--shell", "/bin/sh", "--groups", SHARED, user]);
    }
    let made = [CRON, WEB]
        .iter()
        .all(|user| Command::new("getent").args(["passwd", user]).output().is_ok_and(|done| done.status.success()));
    if !made {
        skipped(test, "the users cannot be made");
    }
    made
}

/// A site of these users, with a copy of the program that both can reach.
pub fn shared_site(script: &str) -> (Site, PathBuf) {
    let site = Site::new().exporter(script);
    fs::set_permissions(site.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(site.config(), fs::Permissions::from_mode(0o644)).unwrap();
    let program = site.path("pressroom");
    crate::together::copy_program(&program);
    site.run(&["check", "--create", "--user", CRON, "--group", SHARED]).exits(0);
    (site, program)
}

/// Runs the program as somebody, with an umask.
#[track_caller]
pub fn become_and_run(site: &Site, program: &Path, user: &str, umask: &str, words: &str) -> Done {
    let line = format!("umask {umask}; exec {} {words}", program.display());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--init-groups", "sh", "-c", &line]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("PRESSROOM_CONFIG", site.config()).current_dir("/");
    Done::of(command.stdin(Stdio::null()))
}

fn mode(site: &Site, below: &str) -> u32 {
    fs::metadata(site.path(below)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn two_users_of_one_group_share_a_site_whatever_their_umasks() {
    if !two_users("two_users_of_one_group_share_a_site_whatever_their_umasks") {
        return;
    }
    for (web_umask, cron_umask) in [("022", "022"), ("077", "077"), ("022", "077"), ("077", "022")] {
        let (site, program) = shared_site(r#"printf book >"$1""#);
        let web = |words: &str| become_and_run(&site, &program, WEB, web_umask, words);
        let cron = |words: &str| become_and_run(&site, &program, CRON, cron_umask, words);
        web("request epub title=Emma").exits(75).stdout("queued 1\n");
        cron("tick --wait").exits(0).stdout("").stderr("");
        cron("request epub title=Nana").exits(75).stdout("queued 1\n");
        cron("tick --wait").exits(0).stderr("");
        web("request epub title=Emma").exits(0);
        let path = site.cached("epub/Emma.epub");
        let read =
            Command::new("setpriv").args(["--reuid", WEB, "--regid", WEB, "--init-groups", "cat"]).arg(path).output();
        assert_eq!(read.unwrap().stdout, b"book");
        web("tick").exits(74).warns("tick.lock");
        assert_eq!(mode(&site, "s/cache/epub/Emma.epub"), 0o440);
        assert_eq!(mode(&site, "s/cache/epub"), 0o2750);
        assert_eq!((mode(&site, "s/work"), mode(&site, "s/log"), mode(&site, "s/queue")), (0o700, 0o700, 0o2770));
        for name in ["pressroom.db", "pressroom.db-wal", "pressroom.db-shm", "doorbell", "reserve"] {
            assert_eq!(mode(&site, &format!("s/queue/{name}")), 0o660, "{name} with umasks {web_umask} {cron_umask}");
        }
    }
}
