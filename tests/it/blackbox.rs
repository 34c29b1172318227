//! What a stranger found who had only the documentation: each a small world in which it happened.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::Stdio,
};

use nix::unistd::Uid;

use crate::support::{
    accounts::{CRON, shared_site, two_users},
    site::{Done, Site},
};

#[test]
fn a_lingering_tick_without_its_doorbell_says_so_and_starts_jobs_all_the_same() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    fs::remove_file(site.path("s/queue/doorbell")).unwrap();
    let words = ["tick", "--allow-root", "--for", "1s", "--wait"];
    site.run(&words).exits(0).warns("cannot listen to").warns("check --create");
    site.ask("Emma").exits(0).says("ready ");
    symlink("/nowhere", site.path("s/queue/doorbell")).unwrap();
    site.run(&words).exits(0).warns("doorbell");
    site.run(&["check"]).exits(78).warns("doorbell");
}

#[test]
fn check_looks_at_the_exporters_directories_and_create_puts_them_right() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let shelf = site.path("s/cache/epub");
    fs::set_permissions(&shelf, fs::Permissions::from_mode(0o777)).unwrap();
    site.run(&["check"]).exits(78).warns("cache/epub has mode 0777, not 2750");
    site.run(&["check", "--create", "--allow-root"]).exits(0).says("corrected");
    site.run(&["check"]).exits(0);
    fs::remove_dir_all(&shelf).unwrap();
    symlink("/tmp", &shelf).unwrap();
    site.run(&["check"]).exits(78).warns("cache/epub is not a directory");
}

#[test]
fn root_does_not_tick_in_the_state_directory_of_somebody_else() {
    if !Uid::effective().is_root() || !two_users("root_does_not_tick_in_the_state_directory_of_somebody_else") {
        return;
    }
    let (site, _) = shared_site("true");
    site.brief_tick().exits(78).warns(&format!("become {CRON}"));
    site.run(&["try", "epub", "title=Emma", "--allow-root"]).exits(78).warns(&format!("become {CRON}"));
    assert!(site.names("s/work").is_empty() && site.names("s/cache").is_empty());
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_no_fault() {
    let site = Site::new().create();
    for words in
        [&["request", "epub", "title=Emma"][..], &["request", "epub", "title=Emma", "--format", "json"], &["check"]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            site.command(words).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let done = Done { what: words.join(" "), output };
        done.exits(74).warns("cannot write the answer");
        assert!(!done.err().contains("fault"), "{}", done.err());
    }
}

#[test]
fn a_new_database_is_whole_in_its_own_file() {
    let site = Site::new().create();
    let alone = site.path("alone.db");
    fs::copy(site.path("s/queue/pressroom.db"), &alone).unwrap();
    let database = rusqlite::Connection::open(alone).unwrap();
    let jobs: i64 = database.query_row("SELECT count(*) FROM job", [], |row| row.get(0)).unwrap();
    assert_eq!(jobs, 0);
}

#[test]
fn a_dry_run_of_a_lingering_line_is_a_dry_run() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.run(&["tick", "--allow-root", "--dry-run", "--for", "1m"]).exits(0).says("claim job 1 (epub/Emma.epub)");
    site.ask("Emma").stdout("queued 1\n");
}
