//! Two users who share a site: the web server's and the crontab's.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::unistd::Uid;

use super::{
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
    crate::support::together::copy_program(&program);
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
