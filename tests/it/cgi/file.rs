//! A file that is there: its headers, conditions and ranges, and what may not be sent.

use std::os::unix::fs::MetadataExt;

use super::{JSON, http_date, jobs, made};
use crate::support::web::{ask, cgi, get, reply, site};

#[test]
fn a_ready_file_comes_with_all_its_headers() {
    let site = made("Emma");
    site.clock(3.0);
    let reply = get(&site, "title=Emma", &[]);
    reply.is(200).has("content-type", "application/epub+zip").has("content-length", "5").has("accept-ranges", "bytes");
    reply.has("content-disposition", "attachment; filename=\"Emma.epub\"; filename*=UTF-8''Emma.epub");
    reply.has("x-robots-tag", "noindex, nofollow").has("vary", "Accept").has("x-content-type-options", "nosniff");
    let about = std::fs::metadata(site.cached("epub/Emma.epub")).unwrap();
    let nanos = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
    reply.has("etag", &format!("\"{:x}-{:x}-{nanos:x}\"", about.ino(), about.size()));
    assert!(reply.header("last-modified").ends_with(" GMT"));
    let left = reply.header("cache-control").strip_prefix("private, max-age=").unwrap().parse::<u64>().unwrap();
    assert!((500..=600).contains(&left), "{left}");
    assert_eq!((reply.text().as_str(), reply.log.as_str()), ("Emma\n", ""));
}

#[test]
fn what_is_left_of_the_ttl_is_told() {
    let site = made("Emma");
    site.clock(400.0);
    let reply = get(&site, "title=Emma", &[]);
    let left = reply.is(200).header("cache-control").rsplit('=').next().unwrap().parse::<u64>().unwrap();
    assert!((100..=200).contains(&left), "{left}");
    site.clock(601.0);
    get(&site, "title=Emma", &[]).is(202);
}

#[test]
fn a_hit_over_http_opens_no_database() {
    let site = made("Emma");
    std::fs::rename(site.path("s/queue"), site.path("s/away")).unwrap();
    get(&site, "title=Emma", &[]).is(200);
    let fault = get(&site, "title=Nana", JSON);
    fault.is(500).is_passing();
    assert_eq!(fault.json()["state"], "error");
    assert!(fault.log.contains("check --create") && fault.log.lines().count() == 1, "{}", fault.log);
}

#[test]
fn head_is_get_without_a_body_and_queues_nothing() {
    let site = made("Emma");
    let head = |query: &str, headers: &[(&str, &str)]| ask(&site, "HEAD", "/epub", query, headers);
    let pairs = [
        ("title=Emma", vec![]),
        ("title=Emma", vec![("HTTP_ACCEPT", "application/json")]),
        ("title=Emma", vec![("HTTP_IF_NONE_MATCH", "*")]),
        ("title=Emma", vec![("HTTP_IF_MATCH", "\"x\"")]),
        ("title=Emma&x=1", vec![]),
        ("title=Emma&format=json", vec![]),
    ];
    for (query, headers) in pairs {
        let (mut get, mut head) = (get(&site, query, &headers), head(query, &headers));
        // A nonce is new each time.
        get.headers.remove("content-security-policy");
        head.headers.remove("content-security-policy");
        assert_eq!((get.status, &get.headers), (head.status, &head.headers));
        assert!(head.body.is_empty());
    }
    assert_eq!(head("title=Nana", &[]).is(202).is_passing().body, b"");
    assert_eq!(jobs(&site), 0);
}

#[test]
fn conditions_and_ranges_are_answered() {
    let site = made("Emma");
    site.clock(3.0);
    let whole = get(&site, "title=Emma", &[]);
    let (etag, date) = (whole.header("etag").to_owned(), whole.header("last-modified").to_owned());
    for (name, value) in [("HTTP_IF_NONE_MATCH", &*etag), ("HTTP_IF_MODIFIED_SINCE", &*date)] {
        let current = get(&site, "title=Emma", &[(name, value)]);
        current.is(304).has("etag", &etag).has("content-type", "").has("content-length", "");
        assert!(current.body.is_empty() && current.header("cache-control").starts_with("private"));
    }
    let part = get(&site, "title=Emma", &[("HTTP_RANGE", "bytes=1-2"), ("HTTP_IF_RANGE", &etag)]);
    part.is(206).has("content-range", "bytes 1-2/5").has("content-length", "2").has("etag", &etag);
    assert_eq!(part.text(), "mm");
    let other = get(&site, "title=Emma", &[("HTTP_RANGE", "bytes=1-2"), ("HTTP_IF_RANGE", "\"other\"")]);
    assert_eq!(other.is(200).text(), "Emma\n");
    assert_eq!(get(&site, "title=Emma", &[("HTTP_RANGE", "bytes=0-0,2-3")]).is(200).text(), "Emma\n");
    get(&site, "title=Emma", &[("HTTP_RANGE", "bytes=5-")]).is(416).is_passing().has("content-range", "bytes */5");
    get(&site, "title=Emma", &[("HTTP_IF_MATCH", "\"other\"")]).is(412).is_passing();
}

/// A site's own proxy may keep the browser from knowing the tag of its copy; busybox drops `If-None-Match`.
#[test]
fn a_file_made_in_the_same_second_is_sent_to_whoever_asks_by_date_alone() {
    let site = made("Emma");
    let first = get(&site, "title=Emma", &[]);
    let path = site.cached("epub/Emma.epub");
    let made = std::fs::metadata(&path).unwrap().modified().unwrap();
    let floor = std::time::UNIX_EPOCH
        + std::time::Duration::from_secs(made.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
    let at = |millis: u64| floor + std::time::Duration::from_millis(millis);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "Nana\n").unwrap();
    std::fs::File::open(&path).unwrap().set_modified(at(999)).unwrap();
    site.clock(5.0);
    let dates = [first.header("last-modified").to_owned(), first.header("date").to_owned(), http_date(floor)];
    for date in dates.iter().filter(|date| !date.is_empty()) {
        assert_eq!(get(&site, "title=Emma", &[("HTTP_IF_MODIFIED_SINCE", date)]).is(200).text(), "Nana\n", "{date}");
    }
    let now = get(&site, "title=Emma", &[]).header("last-modified").to_owned();
    get(&site, "title=Emma", &[("HTTP_IF_MODIFIED_SINCE", &now)]).is(304);
}

#[test]
fn a_file_behind_a_link_to_another_exporter_is_not_sent() {
    let site = made("Emma");
    std::fs::rename(site.path("s/cache/epub"), site.path("s/cache/private")).unwrap();
    std::os::unix::fs::symlink("private", site.path("s/cache/epub")).unwrap();
    assert!(!get(&site, "title=Emma", &[]).text().contains("Emma\n"));
}

#[test]
fn a_miss_opens_the_database_once() {
    let site = site().create();
    let log = site.path("trace");
    let mut traced = std::process::Command::new("strace");
    let like = cgi(&site, "GET", "/epub", "title=Emma");
    traced.args(["-f", "-e", "trace=openat", "-o"]).arg(&log).args([
        env!("CARGO_BIN_EXE_pressroom"),
        "request",
        "--cgi",
    ]);
    traced.current_dir(site.dir()).env_clear();
    traced.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    reply(&mut traced).is(202);
    let opened = std::fs::read_to_string(log).unwrap();
    assert_eq!(opened.matches("pressroom.db\"").count(), 1, "{opened}");
}
