//! A machine that lets nothing be started: no job is used up by that, and everybody is told.

use std::{fs, process::Command};

use crate::support::site::{Done, Site};

/// The command in a mount namespace of its own, after these mounts. `None`: that cannot be done here.
fn without(test: &str, site: &Site, mounts: &str, words: &[&str]) -> Option<Done> {
    let command = site.command(words);
    let script = format!("set -e; {mounts}; exec \"$0\" \"$@\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", &script]).arg(command.get_program()).args(command.get_args());
    unshare.current_dir(site.dir()).envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    crate::support::outside::has_mounts(test).then(|| Done::of(&mut unshare))
}

#[test]
fn without_proc_or_dev_nothing_is_claimed_and_tick_and_check_say_why() {
    for (mounts, why) in [
        ("mount -t tmpfs none /proc", "cannot look into /proc: No such file or directory"),
        ("mount -t tmpfs none /dev", "cannot open /dev/null: No such file or directory"),
    ] {
        let site = Site::new().create();
        site.ask("Emma").exits(75);
        let Some(tick) = without(
            "without_proc_or_dev_nothing_is_claimed_and_tick_and_check_say_why",
            &site,
            mounts,
            &["tick", "--allow-root"],
        ) else {
            return;
        };
        tick.exits(74).warns(why);
        without(
            "without_proc_or_dev_nothing_is_claimed_and_tick_and_check_say_why",
            &site,
            mounts,
            &["check", "--allow-root"],
        )
        .expect("as before")
        .exits(78)
        .warns(why);
        site.ask("Emma").exits(75).stdout("queued 1\n");
        site.tick().exits(0).stderr("");
        site.ask("Emma").exits(0);
    }
}

#[test]
fn a_state_directory_that_cannot_be_written_is_critical() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Nana").exits(75);
    let dir = site.path("s").display().to_string();
    let mounts = format!("mount --bind {dir} {dir}; mount -o remount,ro,bind {dir}");
    let Some(status) = without("a_state_directory_that_cannot_be_written_is_critical", &site, &mounts, &["status"])
    else {
        return;
    };
    status.exits(2).says("cannot be written: Read-only file system");
    without("a_state_directory_that_cannot_be_written_is_critical", &site, &mounts, &["request", "epub", "title=Emma"])
        .expect("as before")
        .exits(0)
        .says("ready ");
    without("a_state_directory_that_cannot_be_written_is_critical", &site, &mounts, &["tick", "--allow-root"])
        .expect("as before")
        .exits(74);
}

/// A directory in which no lock can be made, though all else is well.
#[test]
fn where_no_lock_can_be_made_a_tick_fails_and_no_job_does() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let work = site.path("s/work").display().to_string();
    let mounts = format!("mount --bind {work} {work}; mount -o remount,ro,bind {work}");
    let Some(tick) =
        without("where_no_lock_can_be_made_a_tick_fails_and_no_job_does", &site, &mounts, &["tick", "--allow-root"])
    else {
        return;
    };
    tick.exits(74).warns("work cannot be written: Read-only file system; mount it for writing");
    without("where_no_lock_can_be_made_a_tick_fails_and_no_job_does", &site, &mounts, &["status"])
        .expect("as before")
        .exits(2)
        .says("work cannot be written");
    site.ask("Emma").exits(75).stdout("queued 1\n");
}

/// A limit on the size of files that is inherited: an error like a full disk, and no death in the middle of an answer.
#[test]
fn a_limit_on_files_ends_no_request_and_no_tick() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    for blocks in [0, 1, 64] {
        for words in [&["request", "epub", "title=Nana"][..], &["tick", "--allow-root"]] {
            let command = site.command(words);
            let mut limited = Command::new("sh");
            limited.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
            limited.arg(command.get_program()).args(command.get_args()).current_dir(site.dir());
            limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let done = Done::of(&mut limited);
            assert!(done.output.status.code().is_some(), "{words:?} under {blocks}: {:?}", done.output.status);
        }
    }
    assert!(fs::metadata(site.path("s/queue/pressroom.db")).unwrap().len() > 0);
    crate::support::site::wait_until("the book is made", || {
        site.tick().exits(0);
        site.ask("Emma").output.status.code() == Some(0)
    });
}
