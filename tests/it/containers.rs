//! Containers: process numbers begin anew within one boot of the machine, and other users' processes get numbers that
//! were an exporter's.

use std::{fs, process::Command};

use nix::unistd::geteuid;

use crate::support::site::{Done, Site, wait_until};

/// Hangs at the first start, and is made whole at the next.
const HANGS_ONCE: &str = r#"if [ -e ../../../up ]; then echo whole >"$1"; exit; fi; : >../../../up; exec sleep 1000"#;

/// Waits until the exporter runs, and then for the numbers that its run has noted.
const STARTED: &str =
    "until [ -e up ] && leader=$(awk '/^leader/{print $2}' s/work/*.lock) && [ -n \"$leader\" ]; do sleep 0.01; done";

/// A process whose session has the leader's number and no leader any more; its own number is in the file `innocent`.
const INNOCENT: &str = "echo $((leader - 1)) >/proc/sys/kernel/ns_last_pid
    setsid sh -c 'sleep 1000 & echo $! >innocent'
    read -r innocent <innocent
    session=$(awk '{print $6}' /proc/$innocent/stat)
    [ \"$session\" = \"$leader\" ] || { echo \"session $session, not $leader\"; exit 9; }";

/// Runs a script of bash as the first process of a PID namespace; with its end everybody in it has ended. `tick` is the
/// site's. `None`: that cannot be done here.
fn container(test: &str, site: &Site, script: &str) -> Option<Done> {
    let isolated = || {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc"]);
        unshare
    };
    if !geteuid().is_root() || !isolated().arg("true").status().is_ok_and(|status| status.success()) {
        crate::support::outside::skipped(test, "no PID namespaces");
        return None;
    }
    let tick = site.command(&["tick", "--allow-root"]);
    let mut command = isolated();
    command.args(["bash", "-c", script]).arg(tick.get_program()).args(tick.get_args()).current_dir(site.dir());
    command.env_clear().envs(tick.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    Some(Done::of(&mut command))
}

fn is_made_at_last(site: &Site) {
    wait_until("the book is made", || {
        site.clock(600.0);
        site.tick();
        site.ask("Emma").output.status.code() == Some(0)
    });
}

#[test]
fn a_container_that_is_started_anew_kills_nobody_who_got_an_old_number() {
    let test = "a_container_that_is_started_anew_kills_nobody_who_got_an_old_number";
    let site = Site::new().exporter(HANGS_ONCE).create();
    site.ask("Emma").exits(75);
    let first = format!("echo 300 >/proc/sys/kernel/ns_last_pid; \"$0\" \"$@\"; {STARTED}");
    let Some(first) = container(test, &site, &first) else { return };
    first.exits(0).stderr("");
    // The tick comes from another shell, so that the innocent one is nobody's descendant of ours.
    let second = format!(
        "leader=$(awk '/^leader/{{print $2}}' s/work/*.lock); {INNOCENT}; \"$0\" \"$@\"; kill -0 $innocent && echo alive"
    );
    container(test, &site, &second).expect("as before").exits(0).stdout("alive\n").stderr("");
    let detail = site.text("SELECT detail FROM attempt WHERE result = 'lost'");
    assert_eq!(detail, "the container was restarted");
    is_made_at_last(&site);
}

/// The same where nothing tells one life of the numbers from the next but the namespace's inode.
#[test]
fn a_proc_that_hides_processes_takes_no_seat_for_ever() {
    let test = "a_proc_that_hides_processes_takes_no_seat_for_ever";
    let site = Site::new().exporter(HANGS_ONCE).by_nobody().create();
    site.ask("Emma").exits(75);
    let user = fs::metadata(site.path("s")).map(|about| std::os::unix::fs::MetadataExt::uid(&about)).expect("the site");
    let become_it = format!("setpriv --reuid {user} --regid {user} --clear-groups");
    let hide = "mount -o remount,hidepid=2 /proc || exit 8";
    let first = format!("{hide}; {become_it} \"$0\" \"$@\"; {STARTED}");
    let Some(first) = container(test, &site, &first) else { return };
    if first.output.status.code() == Some(8) {
        crate::support::outside::skipped(test, "no hidepid");
        return;
    }
    first.exits(0).stderr("");
    let second = format!("{hide}; {become_it} \"$0\" \"$@\"");
    container(test, &site, &second).expect("as before").exits(0).stdout("").stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'lost'"), 1);
    is_made_at_last(&site);
}

#[test]
fn a_process_of_another_user_that_got_an_exporters_number_takes_no_seat() {
    let test = "a_process_of_another_user_that_got_an_exporters_number_takes_no_seat";
    let site = Site::new().exporter(HANGS_ONCE).by_nobody().create();
    site.ask("Emma").exits(75);
    let user = fs::metadata(site.path("s")).map(|about| std::os::unix::fs::MetadataExt::uid(&about)).expect("the site");
    let tick = format!("setpriv --reuid {user} --regid {user} --clear-groups \"$0\" \"$@\"");
    let die = "kill -9 $(awk '/^run/{print $2}' s/work/*.lock); while [ -e /proc/$leader ]; do sleep 0.01; done";
    let script = format!("{tick}; {STARTED}; {die}; {INNOCENT}; {tick}; kill -0 $innocent && echo alive");
    let Some(done) = container(test, &site, &script) else { return };
    done.exits(0).stdout("alive\n").stderr("");
    assert_eq!(site.text("SELECT detail FROM attempt WHERE result = 'lost'"), "its run process died");
    is_made_at_last(&site);
}
