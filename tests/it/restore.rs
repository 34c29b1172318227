//! `pressroom backup` and `pressroom restore`, and a database that somebody has copied back by hand.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rusqlite::Connection;

use crate::support::{
    running::{self, held},
    site::{Done, Site},
    together::{Beside, Paused, at_once, request},
};

fn backup(site: &Site) -> Done {
    site.run(&["backup", "saved.db", "--force"])
}

fn restore(site: &Site) -> Done {
    site.run(&["restore", "saved.db"])
}

/// Two jobs wait, one has failed and one book is made.
fn lived_in() -> Site {
    let site = Site::new().exporter(r#"[ "$2" != Bad ] || exit 1; echo "$2" >"$1""#).create();
    site.ask("Emma").exits(75);
    site.ask("Bad").exits(75);
    site.tick().exits(0);
    site.mailed().exits(0);
    site.ask("Nana").exits(75);
    site.ask("Odes").exits(75);
    site
}

fn filenames(site: &Site) -> String {
    site.text("SELECT group_concat(filename, ' ' ORDER BY id) FROM job")
}

/// With the mode that the database has.
fn shared(database: &Path) {
    fs::set_permissions(database, fs::Permissions::from_mode(0o660)).unwrap();
}

#[track_caller]
fn is_sound(database: &Connection) {
    let found: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}

#[test]
fn a_backup_is_one_whole_file_that_its_owner_alone_reads() {
    let site = lived_in();
    site.run(&["backup", "saved.db"]).exits(0).says("saved saved.db: 3 jobs, 2 attempts of the history, ").stderr("");
    assert_eq!(fs::metadata(site.path("saved.db")).unwrap().permissions().mode() & 0o777, 0o600);
    let left: Vec<_> = site.names("").into_iter().filter(|name| name.contains("saved")).collect();
    assert_eq!(left, ["saved.db"]);
    let copy = Connection::open(site.path("saved.db")).unwrap();
    is_sound(&copy);
    let journal: String = copy.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(journal, "delete", "it is whole without a log");
    let jobs: i64 = copy.query_row("SELECT count(*) FROM job", [], |row| row.get(0)).unwrap();
    assert_eq!(jobs, 3);
    site.run(&["backup", "saved.db"]).exits(65).warns("saved.db is there already; give --force to replace it");
    backup(&site).exits(0);
    site.run(&["backup", "nowhere/saved.db"]).exits(74).warns("cannot make nowhere/.saved.db");
}

#[test]
fn a_backup_replaces_nothing_but_a_file_outside_of_the_state_directory() {
    let site = lived_in();
    for name in ["queue/pressroom.db", "queue/pressroom.db-wal", "queue/doorbell", "tick.lock", "saved.db"] {
        let name = format!("s/{name}");
        let before = fs::symlink_metadata(site.path(&name)).map(|about| about.ino()).ok();
        site.run(&["backup", "--force", &name]).exits(65).warns("which is Pressroom's own; save the backup elsewhere");
        assert_eq!(fs::symlink_metadata(site.path(&name)).map(|about| about.ino()).ok(), before, "{name}");
    }
    std::os::unix::fs::symlink("pressroom.toml", site.path("link")).unwrap();
    nix::unistd::mkfifo(&site.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for name in ["link", "pipe"] {
        site.run(&["backup", "--force", name]).exits(65).warns("is there already and is not a regular file");
    }
    assert!(fs::symlink_metadata(site.path("link")).unwrap().is_symlink());
    assert_eq!(filenames(&site), "epub/Bad.epub epub/Nana.epub epub/Odes.epub");
}

#[test]
fn a_pipe_is_no_backup_and_does_not_hold_up_the_restore() {
    let site = lived_in();
    nix::unistd::mkfifo(&site.path("saved.db"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    restore(&site).exits(65).warns("saved.db is not a regular file");
    fs::remove_file(site.path("saved.db")).unwrap();
    backup(&site).exits(0);
    nix::unistd::mkfifo(&site.path("saved.db-wal"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    restore(&site).exits(0);
}

#[test]
fn a_restore_that_was_killed_at_whatever_file_can_be_repeated() {
    let site = lived_in();
    backup(&site).exits(0);
    for suffix in ["", "-wal", "-shm", "-journal"] {
        fs::write(site.path(&format!("s/restore.db{suffix}")), "half of it").unwrap();
    }
    restore(&site).exits(0);
    let left: Vec<_> = site.names("s").into_iter().filter(|name| name.starts_with("restore")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn ids_that_are_none_of_ours_are_not_gone_on_with() {
    for spoilt in ["9223372036854775807", "'x'", "-5"] {
        let site = lived_in();
        backup(&site).exits(0);
        let spoil = format!("UPDATE sqlite_sequence SET seq = {spoilt} WHERE name = 'job'");
        Connection::open(site.path("saved.db")).unwrap().execute(&spoil, []).unwrap();
        restore(&site).exits(0).says("; the next job gets id 1005\n");
        site.database().execute(&spoil, []).unwrap();
        restore(&site).exits(0).says("; the next job gets id 2005\n");
        site.ask("Ovid").exits(75);
        assert_eq!(site.count("SELECT max(id) FROM job"), 2005);
    }
}

#[test]
fn backups_are_sound_while_everybody_writes() {
    let site = Site::new().create();
    let ticking = Beside::start(&mut site.command(&["tick", "--allow-root", "--for", "1m"]));
    for round in 0..5 {
        let requests = (0..6).map(|number| site.command(&request(&format!("book{round}-{number}"))));
        let words = ["backup", "saved.db", "--force"];
        let done = at_once(requests.chain([site.command(&words)]));
        done.last().unwrap().exits(0);
        is_sound(&Connection::open(site.path("saved.db")).unwrap());
    }
    ticking.stop().exits(0);
}

#[test]
fn a_restored_queue_goes_on_and_ids_and_history_go_on_too() {
    let site = lived_in();
    backup(&site).exits(0);
    site.run(&["jobs", "cancel", "--status", "queued", "--yes"]).exits(0);
    for title in ["Persuasion", "Ulysses"] {
        site.ask(title).exits(75);
    }
    site.tick().exits(0).stderr("");
    let log = site.logs();
    assert_eq!(filenames(&site), "epub/Bad.epub");
    restore(&site).exits(0).stdout("restored saved.db: 3 jobs, 6 attempts of the history; the next job gets id 1007\n");
    assert_eq!(filenames(&site), "epub/Bad.epub epub/Nana.epub epub/Odes.epub");
    assert_eq!(site.names("s").iter().filter(|name| name.contains("restore")).count(), 0);
    site.ask("Persuasion").exits(0);
    site.ask("Middlemarch").exits(75);
    assert_eq!(site.count("SELECT max(id) FROM job"), 1007);
    site.tick().exits(0).stderr("");
    site.ask("Nana").exits(0);
    site.ask("Middlemarch").exits(0);
    assert_eq!(&site.logs()[..log.len()], log, "each log still has its row");
    site.run(&["status"]).exits(0);
    site.run(&["check"]).exits(0);
    is_sound(&site.database());
    let modes = ["", "-wal"].map(|end| {
        fs::metadata(site.path(&format!("s/queue/pressroom.db{end}"))).unwrap().permissions().mode() & 0o777
    });
    assert_eq!(modes, [0o660; 2]);
}

/// What was restored is not undone by what the old log holds, and whoever has the database open sees it.
#[test]
fn a_restore_reaches_who_has_the_database_open() {
    let site = lived_in();
    backup(&site).exits(0);
    site.ask("Persuasion").exits(75);
    let open = site.database();
    let count = || open.query_row("SELECT count(*) FROM job", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 4);
    assert!(fs::metadata(site.path("s/queue/pressroom.db-wal")).unwrap().len() > 0);
    restore(&site).exits(0);
    assert_eq!(count(), 3);
    open.execute("UPDATE queue SET mode = 'paused'", []).unwrap();
    assert_eq!(site.text("SELECT mode FROM queue"), "paused");
    is_sound(&open);
}

#[test]
fn requests_that_come_meanwhile_are_answered_and_none_is_lost_half_way() {
    let site = lived_in();
    backup(&site).exits(0);
    let requests = (0..20).map(|number| site.command(&request(&format!("book{number}"))));
    let done = at_once(requests.chain([site.command(&["restore", "saved.db"])]));
    done.last().unwrap().exits(0);
    for done in &done[..20] {
        done.exits(75);
    }
    is_sound(&site.database());
    site.run(&["check"]).exits(0);
    let ids = site.count("SELECT count(*) FROM job WHERE filename LIKE 'epub/book%' AND id < 1000");
    assert_eq!(ids, 0, "what was queued before has gone with the old database");
}

#[test]
fn nothing_is_restored_while_somebody_works() {
    let site = held("");
    backup(&site).exits(0);
    let before = site.text("SELECT attempt FROM job WHERE status = 1");
    restore(&site).exits(69).warns(&format!("attempt {before} is running; wait for its end"));
    let ticking = Paused::at(&site, "tick-before-claim", &["tick", "--allow-root"]);
    restore(&site).exits(69).warns("a tick is at work; stop cron, wait until it has ended");
    ticking.go_on().exits(0);
    running::go(&site);
    crate::support::together::wait_for_runs(&site);
    let writing = Paused::at(&site, "request-before-commit", &["request", "epub", "title=Nana"]);
    let mut command = site.command(&["restore", "saved.db"]);
    Done::of(command.env("PRESSROOM_TEST_BUSY", "200")).exits(69).warns("the database is busy");
    writing.go_on().exits(75);
    assert_eq!(filenames(&site), "epub/Nana.epub", "nothing was restored");
}

/// When the backup was made it ran; it was made since, or not, and either way nothing waits for its end.
#[test]
fn a_job_that_ran_when_the_backup_was_made_is_queued_again_without_being_counted() {
    let site = held("");
    backup(&site).exits(0);
    running::go(&site);
    crate::support::together::wait_for_runs(&site);
    site.tick().exits(0).stderr("");
    fs::remove_file(site.cached("epub/Emma.epub")).unwrap();
    restore(&site).exits(0);
    assert_eq!(site.text("SELECT status || ' ' || attempts FROM job"), "0 0");
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE ended IS NULL"), 0);
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

#[test]
fn what_is_no_backup_is_refused_and_changes_nothing() {
    let site = lived_in();
    backup(&site).exits(0);
    let saved = fs::read(site.path("saved.db")).unwrap();
    let file = |name: &str, bytes: &[u8]| fs::write(site.path(name), bytes).unwrap();
    file("empty", b"");
    file("text", "not a database at all, but long enough to be looked at\n".repeat(200).as_bytes());
    file("cut", &saved[..saved.len() / 2]);
    let mut holed = saved.clone();
    holed[4096 * 3..4096 * 12].fill(0x55);
    file("holed", &holed);
    let other = Connection::open(site.path("other")).unwrap();
    other.execute_batch("CREATE TABLE x (y)").unwrap();
    fs::copy(site.path("saved.db"), site.path("newer")).unwrap();
    Connection::open(site.path("newer")).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    fs::copy(site.path("saved.db"), site.path("altered")).unwrap();
    let trigger = "CREATE TRIGGER t AFTER INSERT ON job BEGIN DELETE FROM job; END";
    Connection::open(site.path("altered")).unwrap().execute_batch(trigger).unwrap();
    let before = filenames(&site);
    for (name, exit, why) in [
        ("nothing", 66, "cannot read nothing: No such file"),
        ("s", 65, "s is not a regular file"),
        ("empty", 65, "cannot restore empty: it is empty"),
        ("text", 65, "cannot restore text: it is not a database of pressroom"),
        ("cut", 65, "cannot restore cut: "),
        ("holed", 65, "cannot restore holed: "),
        ("other", 65, "cannot restore other: it is not a database of pressroom"),
        ("altered", 65, "cannot restore altered: its schema is not pressroom's: trigger t"),
        ("newer", 78, "the database has schema version 99, which this pressroom does not know"),
        ("s/queue/pressroom.db", 65, "is the database itself"),
    ] {
        site.run(&["restore", name]).exits(exit).stdout("").warns(why);
        assert_eq!(filenames(&site), before, "{name}");
        assert_eq!(site.names("s").iter().filter(|name| name.contains("restore")).count(), 0, "{name}");
    }
    site.tick().exits(0).stderr("");
}

#[test]
fn a_backup_of_an_earlier_version_is_upgraded() {
    let site = lived_in();
    let old = Connection::open(site.path("saved.db")).unwrap();
    old.execute_batch(include_str!("../fixtures/version-1.sql")).unwrap();
    let jobs: i64 = old.query_row("SELECT count(*) FROM job", [], |row| row.get(0)).unwrap();
    drop(old);
    restore(&site).exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job"), jobs);
    site.run(&["check"]).exits(0);
}

fn damage(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    let end = bytes.len();
    bytes[1000..end].fill(0x55);
    fs::write(database, bytes).unwrap();
}

/// Whenever the restoring process dies, doing it again succeeds.
#[test]
fn a_damaged_database_is_kept_aside_and_ids_go_on() {
    for killed in [0, 1] {
        let site = lived_in();
        backup(&site).exits(0);
        site.ask("Persuasion").exits(75);
        site.tick().exits(0).stderr("");
        damage(&site.path("s/queue/pressroom.db"));
        fs::remove_file(site.path("s/queue/pressroom.db-wal")).unwrap();
        fs::remove_file(site.path("s/queue/pressroom.db-shm")).unwrap();
        if killed > 0 {
            site.run_at("restore-moving=kill", &["restore", "saved.db"]).dies_of(9);
            site.ask("Meanwhile").exits(78).warns("there is no database yet");
        }
        let done = restore(&site);
        done.exits(0).says("restored saved.db: 3 jobs, 2 attempts of the history; the next job gets id 1006");
        assert_eq!(filenames(&site), "epub/Bad.epub epub/Nana.epub epub/Odes.epub");
        let kept = site.names("s/queue").into_iter().filter(|name| name.contains(".db.damaged-"));
        assert_eq!(kept.filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).count(), 1);
        assert_eq!(fs::metadata(site.path("s/queue/pressroom.db")).unwrap().permissions().mode() & 0o777, 0o660);
        site.tick().exits(0).stderr("");
        site.ask("Nana").exits(0);
        site.run(&["check"]).exits(0);
    }
}

#[test]
fn a_database_that_was_copied_back_by_hand_is_noticed_and_its_ids_go_on() {
    let site = lived_in();
    backup(&site).exits(0);
    site.tick().exits(0).stderr("");
    for title in ["Persuasion", "Ulysses"] {
        site.ask(title).exits(75);
    }
    site.tick().exits(0).stderr("");
    for end in ["-wal", "-shm"] {
        fs::remove_file(site.path(&format!("s/queue/pressroom.db{end}"))).unwrap();
    }
    fs::copy(site.path("saved.db"), site.path("s/queue/pressroom.db")).unwrap();
    shared(&site.path("s/queue/pressroom.db"));
    site.run(&["status"]).exits(1).says("warning: the database was copied back: it knows of no tick since 20");
    site.tick().exits(0).warns("with job ids above 6. `pressroom restore FILE` does this safely");
    site.tick().exits(0).stderr("");
    site.run(&["status"]).exits(0);
    site.ask("Later").exits(75);
    assert_eq!(site.count("SELECT max(id) FROM job"), 1007);
}

const RUNBOOK: &str = include_str!("../../docs/runbook.md");

/// The shell commands in the section of the runbook, for this site.
fn snippets(site: &Site, heading: &str) -> Vec<String> {
    let section = RUNBOOK.split(&format!("\n### {heading}\n")).nth(1).expect("the section");
    let section = section.split("\n#").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let dir = site.dir().display().to_string();
    let here = |block: &str| {
        let block = block.replace("sudo -u pressroom ", "").replace("/var/lib/pressroom", &format!("{dir}/s"));
        let block = block.replace("/var/backups", &dir).replace("pressroom tick", "pressroom tick --allow-root --wait");
        format!("set -e\npressroom() {{ {} \"$@\"; }}\n{block}", env!("CARGO_BIN_EXE_pressroom"))
    };
    blocks.map(here).collect()
}

#[track_caller]
fn does(site: &Site, script: &str) {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", script]).current_dir(site.dir()).env_clear().env("PATH", "/usr/bin:/bin");
    Done::of(shell.env("PRESSROOM_CONFIG", site.config())).exits(0);
}

#[test]
fn the_steps_of_the_runbook_restore_the_queue() {
    let site = lived_in();
    site.run(&["queues", "pause", "default"]).exits(0);
    let [save, back] = &snippets(&site, "Backup and restore")[..] else { panic!("two snippets") };
    let [by_hand] = &snippets(&site, "Restore by hand")[..] else { panic!("one snippet") };
    for restore in [back, by_hand] {
        does(&site, save);
        let before = filenames(&site);
        site.run(&["jobs", "cancel", "--status", "queued", "--yes"]).exits(0);
        does(&site, restore);
        assert_eq!(filenames(&site).split(' ').count(), before.split(' ').count(), "{before}");
        site.run(&["check"]).exits(0);
        is_sound(&site.database());
        site.ask("Middlemarch");
    }
}

/// The file of one database beside the log of another.
#[test]
fn a_damaged_database_in_the_place_of_the_old_one_is_told() {
    let site = lived_in();
    site.tick().exits(0);
    let database = site.path("s/queue/pressroom.db");
    site.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let mut bytes = fs::read(&database).unwrap();
    let root: usize = site.count("SELECT rootpage FROM sqlite_schema WHERE name = 'attempt_ended'").try_into().unwrap();
    bytes[(root - 1) * 4096..root * 4096].fill(0x55);
    fs::write(site.path("s/queue/damaged"), bytes).unwrap();
    shared(&site.path("s/queue/damaged"));
    fs::rename(site.path("s/queue/damaged"), &database).unwrap();
    site.tick().exits(0).warns("the database was replaced by a file that is damaged (");
}
