//! Stale answers: the old file is served while a new one is made, or when it cannot be.

use crate::support::{
    classes::{later, request, run_all, set_mode},
    site::Site,
};

const STALE: &str = "ttl = \"10m\"\nstale = \"1d\"\nfailure_ttl = \"1m\"";
/// Fails as soon as the file `broken` is there.
const SCRIPT: &str = r#"[ ! -e ../../../broken ] || exit 1; date +%s%N >"$1""#;

/// A site with a file that is eleven minutes old.
fn with_old_file() -> Site {
    let site = Site::new().exporter_with(SCRIPT, STALE).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(660.0);
    site
}

#[track_caller]
fn answer(site: &Site) -> (i32, serde_json::Value) {
    let done = request(site, "epub title=Emma --format json");
    (done.output.status.code().unwrap(), done.json()["stale"].clone())
}

#[test]
fn the_old_file_is_served_marked_stale_while_a_new_one_is_made() {
    let site = with_old_file();
    let old = site.ask("Emma").exits(0).out();
    assert_eq!(answer(&site), (0, true.into()));
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 1, "a new one was queued, once");
    let content = std::fs::read(site.cached("epub/Emma.epub")).unwrap();
    run_all(&site);
    assert_eq!(answer(&site), (0, false.into()));
    site.ask("Emma").exits(0).stdout(&old);
    assert_ne!(std::fs::read(site.cached("epub/Emma.epub")).unwrap(), content);
}

#[test]
fn the_old_file_is_served_when_no_new_one_can_be_made() {
    let site = with_old_file();
    crate::support::classes::touch(&site, "broken");
    assert_eq!(answer(&site), (0, true.into()));
    run_all(&site);
    assert_eq!(answer(&site), (0, true.into()));
    assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 3"), 1, "its failure is not tried again at once");
}

#[test]
fn the_old_file_is_served_when_no_new_one_may_be_queued() {
    let site = with_old_file();
    set_mode(&site, "default", "draining");
    assert_eq!(answer(&site), (0, true.into()));
    site.ask("Nana").exits(69);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

/// It was begun before the edit that the site asks about.
#[test]
fn a_stale_file_is_no_answer_to_a_request_for_a_newer_one() {
    let site = with_old_file();
    let edited = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(660)).to_string();
    site.run(&["request", "epub", "title=Emma", "--after", &edited]).exits(75);
}

#[test]
fn who_only_looks_gets_the_old_file_too() {
    let site = with_old_file();
    request(&site, "epub title=Emma --no-enqueue").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn prune_keeps_the_old_file_for_as_long_as_it_is_served_and_then_for_grace() {
    let site = with_old_file();
    later(&site, 86400.0 + 590.0);
    request(&site, "epub title=Emma --no-enqueue").exits(0);
    later(&site, 86400.0 + 605.0);
    request(&site, "epub title=Emma --no-enqueue").exits(66);
    assert!(site.cached("epub/Emma.epub").exists(), "grace is not over");
    later(&site, 86400.0 + 730.0);
    assert!(!site.cached("epub/Emma.epub").exists());
}

/// What can be wrong with a database, as a shell does it.
const BROKEN: [(&str, &str); 5] = [
    ("damaged", "head -c 100000 /dev/zero >queue/pressroom.db"),
    ("foreign", "echo not a database at all, by no means >queue/pressroom.db"),
    ("missing", "rm queue/pressroom.db queue/pressroom.db-*"),
    ("not readable", "chmod 0 queue/pressroom.db"),
    ("out of reach", "chmod 0 queue"),
];

/// The command line, JSON, and CGI whoever sends the file: none needs the database for a file that is there.
#[test]
fn a_stale_file_is_served_by_every_way_in_whatever_is_wrong_with_the_database() {
    for (what, harm) in BROKEN {
        let extra = format!("{STALE}\n{}", crate::support::web::RULES);
        let site = Site::new().by_nobody().exporter_with("echo old >\"$1\"", &extra).create();
        site.ask("Emma").exits(75);
        site.run(&["tick", "--wait"]).exits(0);
        site.clock(660.0);
        let done = crate::support::site::Done::of(
            std::process::Command::new("sh").args(["-c", harm]).current_dir(site.path("s")),
        );
        done.exits(0);
        assert_eq!(answer(&site), (0, true.into()), "{what}");
        let plain = site.ask("Emma");
        plain.exits(0).says("ready ").warns("the old file is served");
        request(&site, "epub title=Emma --wait 1min").exits(0).says("ready ");
        let is_refused = site.ask("Nana").output.status.code().unwrap();
        assert!([69, 74, 78].contains(&is_refused), "{what}: {is_refused}");
        for sendfile in ["off", "x-sendfile:raw", "x-accel-redirect:/files"] {
            let more = format!("[http]\nmax_wait = \"1m\"\nsendfile = \"{sendfile}\"\n");
            let text = std::fs::read_to_string(site.config()).unwrap();
            std::fs::write(site.config(), format!("{text}{more}")).unwrap();
            for query in ["title=Emma", "title=Emma&wait=1m"] {
                let file = crate::support::web::get(&site, query, &[("HTTP_ACCEPT", "*/*")]);
                assert!(file.is(200).header("cache-status").starts_with("pressroom; hit; ttl=-"), "{what}: {file:?}");
                let handed = !file.header("x-sendfile").is_empty() || !file.header("x-accel-redirect").is_empty();
                assert!(file.text() == "old\n" || (handed && sendfile != "off"), "{what} {sendfile}: {file:?}");
            }
            let json = crate::support::web::get(&site, "title=Emma&format=json", &[]);
            assert_eq!(json.is(200).json()["stale"], true);
            std::fs::write(site.config(), text).unwrap();
        }
        let _ = std::process::Command::new("chmod").args(["700"]).arg(site.path("s/queue")).status();
    }
}
