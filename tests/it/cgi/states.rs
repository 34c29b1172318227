//! Each state of an export, and what serves when nothing can be made.

use super::{JSON, jobs, made};
use crate::support::{
    site::Site,
    web::{RULES, get, post, site},
};

#[test]
fn a_wanted_file_is_queued_and_a_page_says_so() {
    let site = site().create();
    let page = get(&site, "title=Emma", &[("HTTP_ACCEPT", "text/html")]);
    page.is(202).is_passing().has("content-type", "text/html; charset=utf-8").has("content-language", "en");
    assert!((2..=30).contains(&page.retry_after()));
    page.says("Emma.epub")
        .says("<meta http-equiv=\"refresh\" content=\"2; url=/export/epub?title=Emma&amp;format=page.1\">");
    assert_eq!(page.header("content-length"), page.body.len().to_string());
    let json = get(&site, "title=Emma", JSON);
    json.is(202).is_passing();
    let json = json.json();
    assert_eq!(
        (&json["state"], &json["position"], &json["filename"]),
        (&"queued".into(), &1.into(), &"epub/Emma.epub".into())
    );
    assert_eq!(jobs(&site), 1);
}

#[test]
fn the_format_in_the_address_counts_before_the_accept_header() {
    let site = made("Emma");
    let ready = get(&site, "title=Emma&format=json", &[]);
    let url = ready.is(200).is_passing().json()["url"].as_str().unwrap().to_owned();
    assert_eq!(url, "/export/epub?title=Emma&format=file");
    assert_eq!(ready.json().get("path"), None);
    for field in ["filename", "content_type", "size", "made_at", "expires_at", "stale"] {
        assert!(ready.json().get(field).is_some(), "{field}");
    }
    // The file itself, although the program says that it wants JSON.
    let file = get(&site, url.split_once('?').unwrap().1, JSON);
    assert_eq!(file.is(200).text(), "Emma\n");
    get(&site, "title=Emma&format=page", JSON).is(200).is_passing().says("url=/export/epub?title=Emma&amp;format=file");
}

#[test]
fn a_started_job_says_how_far_it_is() {
    let script = r#"echo "40 Fetching images" >>"$PRESSROOM_PROGRESS"; while [ ! -e ../../../go ]; do sleep 0.01; done; echo x >"$1""#;
    let site = Site::new().exporter_with(script, RULES).create();
    get(&site, "title=Emma", &[]).is(202);
    site.brief_tick();
    crate::support::site::wait_until("the progress is noted", || {
        site.count("SELECT count(*) FROM job WHERE percent = 40") == 1
    });
    let json = get(&site, "title=Emma", JSON).is(202).json();
    assert_eq!(
        (&json["state"], &json["percent"], &json["message"]),
        (&"started".into(), &40.into(), &"Fetching images".into())
    );
    get(&site, "title=Emma", &[]).is(202).says("value=\"40\"").says("Fetching images");
    std::fs::write(site.path("go"), "").unwrap();
    crate::support::site::wait_until("the file is there", || site.cached("epub/Emma.epub").exists());
    crate::support::site::wait_until("the job is done", || jobs(&site) == 0);
    get(&site, "title=Emma", &[]).is(200);
}

#[test]
fn a_failure_has_its_status_its_message_and_a_time_to_come_back() {
    let script = r#"echo "there is no such book" >"$PRESSROOM_MESSAGE"; exit 65"#;
    let site = Site::new().exporter_with(script, RULES).create();
    get(&site, "title=Emma", &[]).is(202);
    site.tick();
    let failed = get(&site, "title=Emma", JSON);
    failed.is(500).is_passing();
    assert!((200..=301).contains(&failed.retry_after()), "{failed:?}");
    let json = failed.json();
    assert_eq!((&json["state"], &json["message"]), (&"failed_unknown".into(), &"there is no such book".into()));
    let page = get(&site, "title=Emma", &[]);
    page.is(500).is_passing().says("there is no such book");
    assert!(!page.text().contains("ry again"), "bad input fails again: {}", page.text());
    site.clock(301.0);
    get(&site, "title=Emma", &[]).is(202);
}

#[test]
fn a_failed_file_can_be_tried_again_when_that_helps() {
    for (rule, button) in [("", "id=\"link\""), ("[http]\nenqueue_on = \"post\"\n", "<button")] {
        let extra = format!("{RULES}max_attempts = 1\n");
        let site = Site::new().exporter_with("exit 1", &extra).more(rule).create();
        post(&site, "/epub", "", b"title=Emma").is(303);
        site.tick();
        let page = get(&site, "title=Emma&format=page.1", &[]);
        page.is(500).says("You can try again in 5 min.").says(button);
        site.clock(301.0);
        // The same page, loaded again, only looks.
        get(&site, "title=Emma&format=page.1", &[]).is(500).says("You can try again now.").says(button);
    }
}

#[test]
fn a_time_out_has_a_status_of_its_own() {
    let extra = format!("{RULES}timeout = \"1s\"\nmax_attempts = 1\n");
    let site = Site::new().exporter_with("sleep 60", &extra).more("[http]\nfailed_status = [502, 410]\n").create();
    get(&site, "title=Emma", &[]);
    site.tick();
    assert_eq!(get(&site, "title=Emma", JSON).is(410).is_passing().json()["state"], "failed_timeout");
    let site = site.more("");
    let failed = get(&site, "title=Emma", &[]);
    failed.is(504).says("could not be created in time");
    assert!(failed.retry_after() > 0);
}

#[test]
fn a_stale_file_is_served_while_a_new_one_is_made() {
    let site = Site::new().exporter_with(r#"echo "$2" >"$1""#, &format!("{RULES}stale = \"1d\"\n")).create();
    get(&site, "title=Emma", &[]);
    site.tick();
    site.clock(700.0);
    let stale = get(&site, "title=Emma", &[]);
    stale.is(200).has("cache-control", "private, max-age=0");
    assert!(stale.header("cache-status").starts_with("pressroom; hit; ttl=-"), "{stale:?}");
    assert_eq!(jobs(&site), 1);
    assert_eq!(get(&site, "title=Emma", JSON).is(200).json()["stale"], true);
}

#[test]
fn a_stale_file_is_served_by_every_way_in_while_the_database_is_locked() {
    let site = Site::new().exporter_with(r#"echo "$2" >"$1""#, &format!("{RULES}stale = \"1d\"\n")).create();
    get(&site, "title=Emma", &[]);
    site.tick();
    site.clock(700.0);
    let database = site.database();
    database
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET machine_id = machine_id")
        .unwrap();
    assert_eq!(get(&site, "title=Emma", &[]).is(200).text(), "Emma\n");
    assert_eq!(get(&site, "title=Emma", JSON).is(200).json()["stale"], true);
    site.ask("Emma").exits(0).says("ready ");
    get(&site, "title=Nana", &[]).is(503);
}

#[test]
fn a_low_disk_is_unavailable() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"1000TB\"\n";
    let site = site().head(head).create();
    let low = get(&site, "title=Emma", JSON);
    assert_eq!(low.is(503).is_passing().json()["state"], "unavailable");
    assert!(low.retry_after() > 0);
}

#[test]
fn a_broken_configuration_is_a_fault_and_tells_visitors_nothing() {
    let site = site().create();
    std::fs::write(site.config(), "[cache]\nttll = 1\n[x]\n").unwrap();
    let fault = get(&site, "title=Emma", &[]);
    fault.is(500).is_passing().says("Server error");
    assert!(!fault.text().contains("toml") && !fault.text().contains("/tmp"));
    assert_eq!(fault.log.lines().count(), 1, "{}", fault.log);
    assert_eq!(get(&site, "title=Emma", JSON).is(500).json()["state"], "error");
}
