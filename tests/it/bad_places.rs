//! Configurations, state directories and databases that cannot be used: one clear sentence and exit 78, or 74.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::Command,
};

use crate::support::{
    site::{Done, Site},
    together::copy_program,
};

/// A user that owns nothing.
const NOBODY: u32 = 65534;

/// For tests in which root becomes somebody else. `false`: this is not root.
fn is_root(test: &str) -> bool {
    crate::support::outside::is_root(test, "needs root, to become another user")
}

/// The program as nobody, from a place that nobody can reach.
fn as_nobody(site: &Site, words: &[&str]) -> Command {
    let program = site.path("pressroom");
    if !program.exists() {
        copy_program(&program);
        fs::set_permissions(site.dir(), fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let mut command = Command::new(program);
    command.args(words).env_clear().env("PRESSROOM_CONFIG", site.config()).uid(NOBODY).gid(NOBODY);
    command.current_dir(site.dir());
    command
}

#[test]
fn every_mistake_of_a_configuration_is_told_at_once_with_line_and_column() {
    let site = Site::new();
    fs::write(
        site.config(),
        "state_dir = \"s\"\n[cache]\nttll = \"10m\"\nmax_size = 5\n\n[exporter.epub]\nfilename = \"{titel}.epub\"\n  timeout = \"soon\"\n",
    )
    .unwrap();
    for words in [&["check"] as &[&str], &["request", "epub"], &["tick", "--allow-root"]] {
        let done = site.run(words);
        done.exits(78).stdout("");
        for place in ["pressroom.toml:3:1: ", "pressroom.toml:4:12: ", "pressroom.toml:8:13: "] {
            done.warns(place);
        }
        done.warns("did you mean \"ttl\"?").warns("command");
    }
    let answer = site.run(&["request", "epub", "--format", "json"]).exits(78).json();
    assert_eq!(answer["state"], "error");
    assert!(answer["reason"].as_str().unwrap().contains(":3:1:"));
}

#[test]
fn text_that_is_not_toml_is_told_with_line_and_column() {
    let site = Site::new();
    fs::write(site.config(), "state_dir = \"s\"\n[cache\nttl = 1\n").unwrap();
    site.run(&["check"]).exits(78).warns("pressroom.toml:2:7: ");
    fs::write(site.config(), b"state_dir = \"\xff\"\n").unwrap();
    site.run(&["check"]).exits(78).warns("pressroom.toml").warns("UTF-8");
}

#[test]
fn a_configuration_that_is_not_there() {
    let site = Site::new();
    site.run(&["--config", "elsewhere.toml", "request", "epub"]).exits(78).warns("elsewhere.toml");
    site.run(&["request", "epub", "--config", "/"]).exits(78).stdout("");
}

#[test]
fn a_state_directory_that_is_not_there_is_made_by_check_alone() {
    let site = Site::new();
    site.ask("Emma").exits(78).stdout("").warns("pressroom check --create");
    site.tick().exits(78).stdout("").warns("pressroom check --create");
    site.run(&["tick", "--dry-run", "--allow-root"]).exits(78).warns("pressroom check --create");
    site.run(&["check"]).exits(78).warns("pressroom check --create");
    assert!(!site.path("s").exists());
}

#[test]
fn a_directory_with_something_in_it_is_not_taken() {
    let site = Site::new();
    fs::create_dir(site.path("s")).unwrap();
    fs::write(site.path("s/thesis.txt"), "years of work").unwrap();
    site.run(&["check", "--create", "--allow-root"]).exits(78).warns("nor empty (it contains thesis.txt)");
    assert_eq!(site.names("s"), ["thesis.txt"]);
}

#[test]
fn a_database_that_is_missing_foreign_newer_or_none_at_all() {
    let site = Site::new().create();
    let database = site.path("s/queue/pressroom.db");
    let each = |warning: &str| {
        site.ask("Emma").exits(78).stdout("").warns(warning);
        site.tick().exits(78).stdout("").warns(warning);
        site.run(&["tick", "--dry-run", "--allow-root"]).exits(78).warns(warning);
        site.run(&["check"]).exits(78).warns(warning);
    };
    site.database()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA user_version = 7; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    each("the database has schema version 7, which this pressroom does not know; install the newer pressroom");
    let forget = || {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(site.path(&format!("s/queue/pressroom.db{ending}")));
        }
    };
    forget();
    fs::write(&database, "a shopping list, long enough to be looked at as a header of a database: milk, bread, butter, eggs, flour, sugar, salt").unwrap();
    each("the database file is not a database of pressroom");
    assert!(fs::read_to_string(&database).unwrap().starts_with("a shopping list"));
    forget();
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    each("the database file is not a database of pressroom");
    forget();
    site.ask("Emma").exits(78).warns("there is no database yet; run `pressroom check --create --user ");
    site.tick().exits(78).warns("there is no database yet");
    site.run(&["tick", "--dry-run", "--allow-root"]).exits(78).warns("there is no database yet");
    assert!(!database.exists());
}

#[test]
fn the_database_of_another_machine_is_refused_by_tick_until_it_is_adopted() {
    let site = Site::new().create();
    if site.text("SELECT machine_id FROM meta").is_empty() {
        crate::support::outside::skipped(
            "the_database_of_another_machine_is_refused_by_tick_until_it_is_adopted",
            "no machine id here",
        );
        return;
    }
    site.database().execute("UPDATE meta SET machine_id = 'another'", []).unwrap();
    site.tick().exits(78).warns("the database belongs to another machine");
    site.run(&["check", "--create", "--allow-root"]).exits(0);
    site.tick().exits(0).stderr("");
}

#[test]
fn a_command_that_does_not_exist_is_found_by_check_and_fails_its_jobs() {
    let site = Site::new().create();
    let site = site.more("[exporter.x]\ncommand = [\"no-such-program\", \"{output}\"]\nfilename = \"x.txt\"\n");
    site.run(&["check"]).exits(78).warns("exporter x: the program no-such-program is not in ");
    site.run(&["request", "x"]).exits(75);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.run(&["request", "x"]).exits(70).stdout("failed_unknown the export failed\n");
    site.ask("Emma").exits(0);
    site.mailed().exits(0).warns("job 1 (x/x.txt) failed: spawn, no-such-program is not an executable file");
}

#[test]
fn root_does_not_tick_and_does_not_own_a_site_unless_told_so() {
    if !is_root("root_does_not_tick_and_does_not_own_a_site_unless_told_so") {
        return;
    }
    let site = Site::new();
    let advice = "name the user of the crontab with --user, or give --allow-root in a container";
    site.run(&["check", "--create"]).exits(78).warns(advice);
    assert!(!site.path("s").exists());
    fs::set_permissions(site.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    site.run(&["check", "--create", "--user", "nobody", "--group", "nogroup"]).exits(0).says("nobody:nogroup");
    site.run(&["tick"]).exits(78).stdout("").stderr("pressroom: exporters must not run as root; become nobody\n");
    crate::support::untouched::writes_nothing(&site, || site.run(&["tick", "--dry-run"]))
        .exits(0)
        .stdout("")
        .stderr("");
    Done::of(&mut as_nobody(&site, &["tick"])).exits(0).stdout("").stderr("");
}

#[test]
fn a_state_directory_that_cannot_be_written() {
    if !is_root("a_state_directory_that_cannot_be_written") {
        return;
    }
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    // Root's site, group and all: nobody may pass, and a tick of nobody's may not lock.
    Done::of(&mut as_nobody(&site, &["request", "epub", "title=Emma"])).exits(74).stdout("").warns("ermission denied");
    Done::of(&mut as_nobody(&site, &["tick"])).exits(78).stdout("").warns("ermission denied");
    // Readable for all: hits are served, and what would be written is told.
    for (path, mode) in [("s", 0o755), ("s/cache", 0o755), ("s/cache/epub", 0o755), ("s/queue", 0o755)] {
        fs::set_permissions(site.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    Done::of(&mut as_nobody(&site, &["request", "epub", "title=Emma"])).exits(0).says("ready ").stderr("");
    let denied = Done::of(&mut as_nobody(&site, &["request", "epub", "title=Nana"]));
    denied
        .exits(74)
        .stdout("")
        .warns("cannot be written: Permission denied; use `sudo -u root pressroom …`, or join group root")
        .warns("pressroom.db")
        .warns("ermission denied");
    let tick = Done::of(&mut as_nobody(&site, &["tick"]));
    tick.exits(74).stdout("").warns("ermission denied");
    let mut create = as_nobody(&site, &["check", "--create"]);
    Done::of(&mut create).exits(78).warns("only root can make a state directory for another user");
}

/// Made by somebody else's hand, root's most likely: the export is fine, and has nowhere to go.
#[test]
fn a_directory_of_the_cache_that_cannot_be_written_is_named() {
    if !is_root("a_directory_of_the_cache_that_cannot_be_written_is_named") {
        return;
    }
    let site = Site::new().by_nobody().create();
    fs::create_dir(site.path("s/cache/epub")).unwrap();
    fs::set_permissions(site.path("s/cache/epub"), fs::Permissions::from_mode(0o2755)).unwrap();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.mailed().exits(0).warns("cache/epub belongs to user root, not ");
    site.run(&["check"]).exits(78).warns("s/cache/epub belongs to user root, not ");
}

/// Whoever is told to run `check --create` is told the whole of it, wherever the sentence comes from.
#[test]
fn the_command_that_mends_a_site_is_printed_whole() {
    let site = crate::support::site::Site::new().create();
    let whole = format!(" --config {}`", site.config().display());
    let moved = "UPDATE meta SET machine_id = 'another'";
    site.database().execute(moved, []).unwrap();
    for words in [&["tick", "--allow-root"] as &[&str], &["status"], &["check"]] {
        let done = site.run(words);
        let told = format!("{}{}", done.out(), done.err());
        assert!(told.contains("belongs to another machine") && told.contains(&whole), "{words:?}: {told}");
    }
    std::fs::remove_file(site.path("s/.pressroom")).unwrap();
    for words in [&["tick", "--allow-root"] as &[&str], &["status"], &["jobs", "list"]] {
        let done = site.run(words);
        let told = format!("{}{}", done.out(), done.err());
        assert!(told.contains("is not a state directory") && told.contains(&whole), "{words:?}: {told}");
    }
}
