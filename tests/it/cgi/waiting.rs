//! Asking again: newer copies, pages that look again, tasks, and requests that wait.

use super::{JSON, jobs, made};
use crate::support::web::{ask, cgi, get, site};

#[test]
fn without_a_usable_place_for_those_who_wait_the_answer_comes_at_once() {
    let site = site().more("[http]\nmax_wait = \"1h\"\n").create();
    let waiters = site.path("s/queue/waiters");
    std::fs::create_dir(&waiters).unwrap();
    let answer = get(&site, "title=Emma&wait=1h", &[]);
    assert!(answer.is(202).log.contains(waiters.to_str().unwrap()), "{}", answer.log);
    std::fs::remove_dir(&waiters).unwrap();
    std::os::unix::fs::symlink(site.config(), &waiters).unwrap();
    get(&site, "title=Emma&wait=1h", &[]).is(202);
}

#[test]
fn a_new_copy_is_made_when_it_may_be_asked_for() {
    let site = site().more("[http]\nrefresh = \"1m\"\n").create();
    get(&site, "title=Emma", &[]);
    site.tick();
    let again = get(&site, "title=Emma&refresh=1", &[]);
    let place = again.is(303).is_passing().header("location").to_owned();
    let (path, query) = place.split_once('?').unwrap();
    assert_eq!(path, "/export/epub");
    let after = query.strip_prefix("title=Emma&after=").unwrap();
    assert!(after.ends_with('Z') && after.rsplit('.').next().unwrap().len() == 4, "milliseconds in {after}");
    // The copy is younger than a minute.
    get(&site, query, &[]).is(200);
    site.clock(120.0);
    let again = get(&site, "title=Emma&refresh=1", &[]).header("location").to_owned();
    let query = again.split_once('?').unwrap().1;
    get(&site, query, &[]).is(202);
    get(&site, "title=Emma", &[]).is(200);
    site.tick();
    get(&site, query, &[]).is(200);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'ok'"), 2);
}

#[test]
fn no_new_copy_is_made_when_it_may_not_be_asked_for() {
    let site = made("Emma");
    site.clock(120.0);
    get(&site, "title=Emma&refresh=1", &[]).is(200);
    get(&site, "title=Emma&after=2026-03-01T12:00:00Z", &[]).is(200);
    assert_eq!(jobs(&site), 0);
}

#[test]
fn a_short_export_arrives_within_one_request() {
    let site = site().more("[http]\nmax_wait = \"1m\"\n").create();
    let waiting =
        cgi(&site, "GET", "/epub", "title=Emma&wait=50").stdout(std::process::Stdio::piped()).spawn().unwrap();
    crate::support::site::wait_until("it is queued", || jobs(&site) == 1);
    site.tick();
    let output = waiting.wait_with_output().unwrap().stdout;
    let text = String::from_utf8(output).unwrap();
    assert!(text.starts_with("Status: 200 OK\r\n") && text.ends_with("\r\n\r\nEmma\n"), "{text}");
}

#[test]
fn nobody_waits_longer_or_in_greater_number_than_allowed() {
    let brief = site().more("[http]\nmax_wait = \"100ms\"\n").create();
    get(&brief, "title=Emma&wait=1h", &[]).is(202);
    let full = site().more("[http]\nmax_wait = \"1h\"\nmax_waiters = 0\n").create();
    get(&full, "title=Emma&wait=1h", &[]).is(202);
    let never = site().create();
    get(&never, "title=Emma&wait=1h", &[]).is(202);
}

#[test]
fn a_task_is_queued_once_for_one_visit() {
    let more = "[exporter.reindex]\nweb = true\noutput = \"none\"\ncommand = [\"true\"]\n";
    let site = site().more(more).create();
    let page = ask(&site, "GET", "/reindex", "", &[]);
    page.is(202).is_passing();
    assert!(!page.text().contains("http-equiv") && !page.text().contains("<script"), "{}", page.text());
}

#[test]
fn a_page_that_looks_again_queues_nothing() {
    let site = site().create();
    for format in ["look", "page.1", "page.40"] {
        let query = format!("title=Emma&format={format}");
        get(&site, &query, &[]).is(404).is_passing();
        assert_eq!(jobs(&site), 0);
    }
    get(&site, "title=Emma&format=page.1", &[]).says("Create the file");
    get(&site, "title=Emma&format=page", &[]).is(202);
    assert_eq!(get(&site, "title=Emma&format=look", &[]).is(202).json()["position"], 1);
    let tired = get(&site, "title=Emma&format=page.500", &[]);
    tired.is(202).says("This page no longer checks for your file");
    for what in ["http-equiv", "Next check in", "Position in the queue", "the download starts", "application/json"] {
        assert!(!tired.text().contains(what), "{what}: {}", tired.text());
    }
    let year = jiff::Timestamp::now().strftime("%Y-").to_string();
    tired.says(&format!("The last check was at {year}")).says(" UTC.").says("Check now");
}

#[test]
fn a_page_keeps_to_the_moment_that_counted_first() {
    let site = site().more("[http]\nrefresh = \"1m\"\n").create();
    let page = get(&site, "title=Emma&refresh=1", &[]).header("location").to_owned();
    let (_, query) = page.split_once('?').unwrap();
    let look = get(&site, query, JSON).is(202).header("retry-after").to_owned();
    assert!(!look.is_empty());
    site.tick();
    let ready = get(&site, &format!("{query}&format=json"), &[]).is(200).json();
    let url = ready["url"].as_str().unwrap();
    let asked = query.split("after=").nth(1).unwrap().replace("%3A", ":");
    let kept = url.split("after=").nth(1).unwrap().split('&').next().unwrap().replace("%3A", ":");
    let ms = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    assert!((59_000..=61_000).contains(&(ms(&asked) - ms(&kept))), "{asked} {kept}");
}

#[test]
fn a_task_that_is_waited_for_is_done() {
    let more = "[http]\nmax_wait = \"1m\"\n[exporter.reindex]\nweb = true\noutput = \"none\"\ncommand = [\"true\"]\n";
    let site = site().more(more).create();
    let waiting = cgi(&site, "GET", "/reindex", "wait=50").stdout(std::process::Stdio::piped()).spawn().unwrap();
    crate::support::site::wait_until("it is queued", || jobs(&site) == 1);
    site.tick();
    let text = String::from_utf8(waiting.wait_with_output().unwrap().stdout).unwrap();
    assert!(text.starts_with("Status: 200 OK\r\n") && text.contains("Your request has been carried out."), "{text}");
}
