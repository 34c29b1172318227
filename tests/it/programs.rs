//! Clients that are no browsers: downloaders, link checkers, and browsers that fetch ahead of their users.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{
    classes::{later, set_mode},
    outside::has,
    server::{Kind, Server},
    site::{Done, Site, wait_until},
    web::{RULES, Reply, ask, cgi, get, site},
};

const CURL: (&str, &str) = ("HTTP_ACCEPT", "*/*");
const ABANDON: &str = "abandon_after = \"5m\"";
const SPECULATIVE: [(&str, &str); 6] = [
    ("HTTP_SEC_PURPOSE", "prefetch"),
    ("HTTP_SEC_PURPOSE", "prerender"),
    ("HTTP_SEC_PURPOSE", "prefetch;prerender"),
    ("HTTP_PURPOSE", "prefetch"),
    ("HTTP_X_MOZ", "prefetch"),
    ("HTTP_X_PURPOSE", "preview"),
];

fn jobs(site: &Site) -> i64 {
    site.count("SELECT count(*) FROM job")
}

#[track_caller]
fn is_a_line(reply: &Reply, beginning: &str) {
    reply.is_passing().has("content-type", "text/plain; charset=utf-8");
    let text = reply.text();
    assert!(text.starts_with(beginning) && text.lines().count() == 1 && text.ends_with('\n'), "{text:?}");
}

#[test]
fn who_wants_neither_a_page_nor_json_is_told_to_come_again() {
    let site = site().create();
    for accept in ["*/*", "image/*", "application/epub+zip", "text/*, */*;q=0.1", "text/html;q=0, */*"] {
        let queued = get(&site, "title=Emma", &[("HTTP_ACCEPT", accept)]);
        is_a_line(queued.is(503), "queued: Your file is waiting its turn");
        assert!((2..=30).contains(&queued.retry_after()), "{queued:?}");
    }
    let mut without = cgi(&site, "GET", "/epub", "title=Emma");
    is_a_line(crate::support::web::reply(without.env_remove("HTTP_ACCEPT")).is(503), "queued: ");
    // The address says more than the header.
    assert_eq!(get(&site, "title=Emma&format=json", &[CURL]).is(202).json()["state"], "queued");
    get(&site, "title=Emma&format=page", &[CURL]).is(202).has("content-type", "text/html; charset=utf-8");
    is_a_line(get(&site, "title=Emma&format=file", &[("HTTP_ACCEPT", "application/json")]).is(503), "queued: ");
    get(&site, "title=Emma", &[]).is(202).has("content-type", "text/html; charset=utf-8");
    assert_eq!(jobs(&site), 1);
    site.tick();
    assert_eq!(get(&site, "title=Emma", &[CURL]).is(200).text(), "Emma\n");
}

#[test]
fn other_answers_are_a_line_under_their_own_status() {
    let site = Site::new().exporter_with("exit 65", RULES).more("[queue.default]\nmax_queued = 1\n").create();
    get(&site, "title=Emma", &[CURL]).is(503);
    is_a_line(get(&site, "title=Nana", &[CURL]).is(503), "unavailable: Not possible at the moment");
    is_a_line(get(&site, "titel=Emma", &[CURL]).is(400), "invalid: This request is not valid: ");
    is_a_line(ask(&site, "GET", "/nothing", "", &[CURL]).is(404), "unknown: There is no such export");
    is_a_line(ask(&site, "PUT", "/epub", "", &[CURL]).is(405), "invalid: ");
    site.tick();
    let german = get(&site, "title=Emma", &[CURL, ("HTTP_ACCEPT_LANGUAGE", "de")]);
    is_a_line(german.is(500).has("content-language", "de"), "failed_unknown: Ihre Datei konnte nicht erstellt werden");
    fs::write(site.config(), "[x]\n").unwrap();
    is_a_line(get(&site, "title=Emma", &[CURL]).is(500), "error: ");
}

#[test]
fn one_client_with_too_much_is_limited_in_one_line() {
    let site = site().more("[queue.default]\nmax_per_client = 1\n").create();
    get(&site, "title=Emma", &[CURL]).is(503);
    is_a_line(get(&site, "title=Nana", &[CURL]).is(429), "limited: ");
}

#[test]
fn a_site_whose_balancer_dislikes_503_says_202() {
    let site = site().more("[http]\npending_status = 202\n").create();
    is_a_line(get(&site, "title=Emma", &[CURL]).is(202), "queued: ");
}

#[test]
fn head_says_that_an_export_is_valid_and_queues_nothing() {
    let site = site().more("pattern = \"[A-Z][a-z]+\"\n").create();
    let head = |query: &str, accept: &str| ask(&site, "HEAD", "/epub", query, &[("HTTP_ACCEPT", accept)]);
    for accept in ["*/*", "text/html", "application/json"] {
        assert_eq!(head("title=Emma", accept).is(202).is_passing().body, b"");
        head("title=emma", accept).is(400);
        head("titel=Emma", accept).is(400);
        ask(&site, "HEAD", "/pdf", "title=Emma", &[("HTTP_ACCEPT", accept)]).is(404);
    }
    assert_eq!(jobs(&site), 0);
    site.ask("Emma").exits(75);
    head("title=Emma", "*/*").is(202);
    site.tick();
    head("title=Emma", "*/*").is(200).has("content-type", "application/epub+zip").has("content-length", "5");
    let failing = Site::new().exporter_with("exit 65", RULES).create();
    failing.ask("Emma").exits(75);
    failing.tick();
    ask(&failing, "HEAD", "/epub", "title=Emma", &[CURL]).is(500);
}

#[test]
fn what_a_browser_fetches_ahead_queues_nothing_and_is_not_kept() {
    let site = site().more("[http]\nmax_wait = \"1h\"\n").create();
    for header in SPECULATIVE {
        for query in ["title=Emma", "title=Emma&wait=1h", "title=Emma&format=page"] {
            let ahead = get(&site, query, &[header]);
            ahead.is(503).is_passing();
            assert!(ahead.retry_after() > 0);
        }
        assert_eq!(
            get(&site, "title=Emma", &[header, ("HTTP_ACCEPT", "application/json")]).is(503).body.last(),
            Some(&b'\n')
        );
        get(&site, "titel=Emma", &[header]).is(400);
    }
    assert_eq!(jobs(&site), 0);
    get(&site, "title=Emma", &[]).is(202);
    get(&site, "title=Emma&wait=1h", &[SPECULATIVE[0]]).is(503);
    site.tick();
    for header in SPECULATIVE {
        assert_eq!(get(&site, "title=Emma", &[header]).is(200).has("vary", "Accept").text(), "Emma\n");
    }
}

/// A job that nobody but prefetching browsers and link checkers asks about is given up.
#[test]
fn who_only_looks_ahead_does_not_count_as_asking() {
    let extra = format!("{RULES}{ABANDON}\n");
    for (method, headers, left) in [("GET", &SPECULATIVE[..1], 0), ("HEAD", &[][..], 0), ("GET", &[][..], 1)] {
        let site = Site::new().exporter_with("true", &extra).create();
        set_mode(&site, "default", "paused");
        get(&site, "title=Emma", &[]).is(202);
        site.clock(200.0);
        ask(&site, method, "/epub", "title=Emma", headers);
        later(&site, 450.0);
        assert_eq!(jobs(&site), left, "{method} {headers:?}");
    }
}

/// The command lines of the documentation that begin with this.
fn documented(page: &str, program: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.starts_with(program));
    lines.filter(|line| line.contains("retry")).map(str::to_owned).collect()
}

const ADDRESS: &str = "'https://example.org/export/epub?title=Candide&lang=fr'";

/// Runs such a line for a book that is not there yet, and makes the book meanwhile: only the book is saved.
fn fetches(server: &Server, line: &str, title: &str, saved: &str) {
    let dir = server.site.path(title);
    fs::create_dir(&dir).unwrap();
    let url = server.url(&format!("/epub?title={title}"));
    assert!(line.contains(ADDRESS), "{line}");
    let line = line.replace(ADDRESS, &format!("'{url}'"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(&dir).env("no_proxy", "*").env("HOME", &dir);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let file = server.site.cached(&format!("epub/{title}.epub"));
    wait_until("it is queued", || server.site.count("SELECT count(*) FROM job") == 1);
    assert!(fs::read_dir(&dir).unwrap().all(|entry| fs::metadata(entry.unwrap().path()).unwrap().len() == 0));
    server.site.tick().exits(0);
    assert!(file.exists());
    let done = Done { what: line, output: child.wait_with_output().unwrap() };
    done.exits(0);
    let names: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [saved], "{}\n{}", done.what, done.err());
    assert_eq!(fs::read_to_string(dir.join(saved)).unwrap(), format!("{title}\n"));
}

/// The same for a book that cannot be made: nothing is saved, and the exit status says so.
fn fails(server: &Server, line: &str, title: &str, status: i32) {
    let dir = server.site.path(title);
    fs::create_dir(&dir).unwrap();
    let line = line.replace(ADDRESS, &format!("'{}'", server.url(&format!("/epub?titel={title}"))));
    let mut command = Command::new("sh");
    Done::of(command.args(["-c", &line]).current_dir(&dir).env("no_proxy", "*")).exits(status);
    // wget has made the file that it would have written into.
    assert!(fs::read_dir(&dir).unwrap().all(|entry| entry.unwrap().file_name() == "part"));
}

fn lines(program: &'static str, test: &str, saved: &str, failed: i32) {
    let server = match Server::start(Kind::NginxAccel) {
        Ok(server) => server,
        Err(missing) => return crate::support::outside::skipped(test, &missing),
    };
    let lines: Vec<_> = ["web.md", "integration.md"].iter().flat_map(|page| documented(page, program)).collect();
    assert!(lines.len() >= 2, "{lines:?}");
    for (number, line) in lines.iter().enumerate() {
        fetches(&server, line, &format!("{program}{number}"), &saved.replace('N', &number.to_string()));
        fails(&server, line, &format!("bad{number}"), failed);
    }
}

#[test]
fn the_documented_curl_line_fetches_the_file_and_nothing_else() {
    lines("curl", "the curl line", "curlN.epub", 22);
    let Ok(server) = Server::start(Kind::Nginx) else { return };
    fetches(&server, &format!("curl --retry 20 -fO {ADDRESS}"), "plain", "epub");
}

#[test]
fn the_documented_wget_line_fetches_the_file_and_nothing_else() {
    if has("the wget line", "wget") {
        lines("wget", "the wget line", "book.epub", 8);
    }
}
