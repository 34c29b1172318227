//! What every server has to answer.

use std::{fs, process::Command};

use percent_encoding::percent_decode_str;

use crate::support::{
    http::{Reply, curl, curl_or_cut},
    server::{Kind, Server},
    site::wait_until,
};

const JSON: &[&str] = &["-H", "Accept: application/json"];

/// Titles that have been lost somewhere between a browser and a disk.
const TITLES: [&str; 12] = [
    "Emma",
    "He said \"no\" \\ twice; 100% sure",
    "100%25 + %41 & more",
    "L’Île des Pingouins",
    "Ägypten über Łódź",
    "紅樓夢",
    "ألف ليلة وليلة",
    "👩‍🚀 flies",
    "turned\u{202e}around",
    "..-~-..",
    "a/b",
    concat!(
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
        "0123456789abcdefghijklmnopqrstuvwxyz012",
    ),
];

fn address(server: &Server, title: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("title", title).finish();
    server.url(&format!("/epub?{query}"))
}

/// Queues and makes a book, from the command line.
fn make(server: &Server, title: &str) {
    server.site.ask(title).exits(75);
    server.site.tick().exits(0);
}

fn is_retried(reply: &Reply) {
    let seconds = reply.header("retry-after").parse::<u64>();
    assert!(seconds.is_ok_and(|seconds| seconds > 0), "{reply:?}");
}

pub fn every_answer_arrives(server: &Server) {
    let url = address(server, "Emma");
    curl(&url, &["-I"]).is(202).is_passing();
    let ahead = curl(&url, &["-H", "Sec-Purpose: prefetch;prerender"]);
    is_retried(ahead.is(503).is_passing());
    assert_eq!(server.site.count("SELECT count(*) FROM job"), 0);
    let page = curl(&url, &["-H", "Accept-Language: de"]);
    page.is(202).is_passing().has("content-type", "text/html; charset=utf-8");
    assert!(page.text().contains("Ihre Datei ist in der Warteschlange"));
    is_retried(&page);
    let line = curl(&url, &["-H", "Accept: */*"]);
    is_retried(line.is(503).is_passing().has("content-type", "text/plain; charset=utf-8"));
    let queued = curl(&url, JSON);
    queued.is(202).is_passing().has("content-type", "application/json");
    assert_eq!(queued.json()["position"], 1);
    server.site.tick().exits(0);
    ready(server, &url);
    sandboxed(server);
    failing(server);
    refused(server);
    curl(&format!("{url}&refresh=1"), &[]).is(303).is_passing();
    let posted = curl(&server.url("/epub"), &["-d", "title=Nana&format=json"]);
    posted.is(303).is_passing();
    assert!(posted.header("location").ends_with("/epub?title=Nana&format=json"), "{posted:?}");
    let followed = curl(&server.url("/epub"), &["-L", "-d", "title=Nana&format=json"]);
    assert_eq!(followed.is(202).json()["state"], "queued");
    limited(server);
    assert_eq!(server.log(), "");
}

fn ready(server: &Server, url: &str) {
    // In the second in which a file was made its date does not tell it from the next one.
    wait_until("the date counts", || !curl(url, &["-I"]).header("last-modified").is_empty());
    let file = curl(url, &[]);
    file.is(200).has("content-type", "application/epub+zip").has("content-length", "5").has("accept-ranges", "bytes");
    file.has("content-disposition", "attachment; filename=\"Emma.epub\"; filename*=UTF-8''Emma.epub");
    file.has("x-robots-tag", "noindex, nofollow").has("x-content-type-options", "nosniff");
    assert!(file.header("cache-control").starts_with("private, max-age="), "{file:?}");
    assert!(file.header("vary").contains("Accept") && file.header("etag").starts_with('"'), "{file:?}");
    assert_eq!(file.text(), "Emma\n");
    let head = curl(url, &["-I"]);
    head.is(200).has("content-length", "5").has("etag", file.header("etag"));
    date_alone(url, &file);
    if server.kind != Kind::Busybox {
        conditions_and_ranges(url, &file);
    }
    let json = curl(url, JSON);
    let place = json.is(200).json()["url"].as_str().unwrap().to_owned();
    let origin = &server.base[..server.base.find('/').unwrap() + 2];
    let host = server.base[origin.len()..].split('/').next().unwrap();
    assert_eq!(curl(&format!("{origin}{host}{place}"), JSON).is(200).text(), "Emma\n");
}

/// Of all conditions busybox hands on only this one.
fn date_alone(url: &str, file: &Reply) {
    let since = |date: &str| curl(url, &["-H", &format!("If-Modified-Since: {date}")]).status;
    assert_eq!(since(file.header("last-modified")), 304);
    assert_eq!(since(&file.header("last-modified").replace(" 20", " 19")), 200);
}

fn conditions_and_ranges(url: &str, file: &Reply) {
    let date = format!("If-Modified-Since: {}", file.header("last-modified"));
    let tag = format!("If-None-Match: {}", file.header("etag"));
    for condition in [tag, date] {
        let current = curl(url, &["-H", &condition]);
        assert!(current.is(304).body.is_empty());
    }
    let part = curl(url, &["-r", "1-2"]);
    part.is(206).has("content-range", "bytes 1-2/5").has("content-length", "2");
    assert_eq!(part.text(), "mm");
    for beyond in ["5-", "5-,7-9"] {
        curl(url, &["-r", beyond]).is(416).is_passing().has("content-range", "bytes */5");
    }
    curl(url, &["-H", "If-Match: \"other\""]).is(412).is_passing();
    curl(url, &["-H", &format!("If-Match: {}", file.header("etag"))]).is(200);
    curl(url, &["-H", "If-Unmodified-Since: Sun, 01 Mar 2020 12:00:00 GMT"]).is(412).is_passing();
    curl(url, &["-H", &format!("If-Unmodified-Since: {}", file.header("last-modified"))]).is(200);
    let ours = format!("If-Range: {}", file.header("etag"));
    curl(url, &["-r", "1-2", "-H", &ours]).is(206);
    assert_eq!(curl(url, &["-r", "1-2", "-H", "If-Range: \"other\""]).is(200).text(), "Emma\n");
}

/// A header that only some files have.
fn sandboxed(server: &Server) {
    curl(&server.url("/drawing"), &[]).is(202);
    server.site.tick().exits(0);
    let drawing = curl(&server.url("/drawing"), &[]);
    drawing.is(200).has("content-type", "image/svg+xml").has("content-security-policy", "sandbox");
    assert_eq!(drawing.text(), "<svg/>\n");
}

fn failing(server: &Server) {
    make(server, "Bad");
    let failed = curl(&address(server, "Bad"), JSON);
    failed.is(500).is_passing();
    is_retried(&failed);
    assert_eq!(failed.json()["message"], "there is no such book");
}

fn refused(server: &Server) {
    curl(&server.url("/epub?titel=x"), &[]).is(400).is_passing();
    // lighttpd refuses these by itself.
    curl(&server.url("/epub?title=%ff"), JSON).is(400);
    curl(&server.url("/epub?title=a%00b"), JSON).is(400);
    curl(&server.url("/secret"), &[]).is(404).is_passing();
    let other = curl(&address(server, "Emma"), &["-X", "DELETE"]);
    other.is(405).is_passing().has("allow", "GET, HEAD, POST");
}

fn limited(server: &Server) {
    let asked = (0..9).map(|number| curl(&address(server, &format!("limited {number}")), JSON));
    let refused = asked.into_iter().find(|reply| reply.status != 202).expect("there is a limit");
    refused.is(429).is_passing();
    is_retried(&refused);
}

pub fn every_title_is_served(server: &Server) {
    for title in TITLES {
        server.site.ask(title).exits(75);
    }
    server.site.tick().exits(0);
    server.site.tick().exits(0);
    server.site.tick().exits(0);
    for title in TITLES {
        let file = curl(&address(server, title), &[]);
        assert_eq!(file.is(200).text(), format!("{title}\n"));
        let (_, name) = file.header("content-disposition").split_once("filename*=UTF-8''").unwrap();
        let name = percent_decode_str(name).decode_utf8().unwrap();
        let stem: String =
            title.chars().filter(|c| *c != '\u{202e}').map(|c| if "/\\".contains(c) { '_' } else { c }).collect();
        let stem = stem.trim_matches('.').to_owned();
        assert!(
            name.strip_suffix(".epub").is_some_and(|name| stem.starts_with(name) && name.len() >= stem.len().min(235)),
            "{name}"
        );
        curl(&address(server, title), &["-I"]).is(200).has("content-length", &(title.len() + 1).to_string());
    }
    assert_eq!(server.log(), "");
}

pub fn a_broken_download_goes_on(server: &Server) {
    make(server, "Big");
    let url = address(server, "Big");
    let whole = fs::read(server.site.cached("epub/Big.epub")).unwrap();
    assert!(curl(&url, &[]).is(200).body == whole);
    if server.kind == Kind::Busybox {
        return;
    }
    let broken = server.site.path("broken");
    for (program, options) in [("curl", ["-sS", "-C", "-", "-o"].as_slice()), ("wget", ["-q", "-c", "-O"].as_slice())] {
        fs::write(&broken, &whole[..1_234_567]).unwrap();
        let mut command = Command::new(program);
        let output = command.env("no_proxy", "*").args(options).arg(&broken).arg(&url).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read(&broken).unwrap() == whole, "{program} has another file");
    }
    // Somebody who goes away in the middle.
    let gone = Command::new("curl")
        .args(["-sS", "--noproxy", "*", "--max-filesize", "1000000", "-o", "/dev/null", &url])
        .output();
    assert_eq!(gone.unwrap().status.code(), Some(63));
    curl(&url, &["-r", "0-9"]).is(206);
    assert!(!server.log().contains("pressroom:"), "{}", server.log());
}

/// The title's file lies at `epub/..%2fprivate%2fpayroll.epub`, which a server that decodes the path takes for another.
pub fn a_title_like_a_path_delivers_its_own_file(server: &Server) {
    server.site.run(&["request", "private"]).exits(75);
    for title in ["../private/payroll", "..%2fprivate%2fpayroll", "Emma"] {
        make(server, title);
        assert_eq!(curl(&address(server, title), &[]).is(200).text(), format!("{title}\n"));
    }
    assert_eq!(server.site.names("s/cache/private"), ["payroll.epub"]);
    curl(&server.url("/private"), &[]).is(404);
    assert!(!server.log().contains("pressroom:"), "{}", server.log());
}

/// No password is asked for, so whatever a visitor claims to be called is no name.
pub fn a_claimed_name_counts_for_nothing(server: &Server) {
    for name in ["anna:", "bert:secret"] {
        curl(&address(server, name), &["-u", name]).is(202);
    }
    server.site.run(&["jobs", "list", "--client", "127.0.0.1"]).exits(0).says("anna").says("bert");
    assert_eq!(server.site.count("SELECT count(DISTINCT client) FROM job WHERE client IS NOT NULL"), 1);
}

pub fn hostile_requests_are_refused(server: &Server) {
    let million = format!("X-Long: {}", "a".repeat(1_000_000));
    let header = server.site.path("header");
    fs::write(&header, &million).unwrap();
    let from_file = format!("@{}", header.display());
    let cases: &[(&str, &[&str])] = &[
        ("/epub?title=a%0d%0aX-Evil:%20x", &[]),
        ("/epub?title=%ff", &[]),
        ("/epub?title=a&title=b", &[]),
        ("/epub/..%2f..%2fetc/passwd?title=x", &[]),
        ("/%2e%2e/%2e%2e/etc/passwd?title=x", &[]),
        ("/../../../etc/passwd?title=x", &[]),
        ("/epub%0d%0aX-Evil:%20x?title=x", &[]),
        ("/epub%00?title=x", &[]),
        ("/<script>alert(1)</script>?title=x", &[]),
        ("/epub?title=x&format=%3Cscript%3E", JSON),
        ("/epub?title=x", &["-H", &from_file]),
    ];
    for (path, options) in cases {
        // busybox drops a header that it does not know, whatever its length.
        if server.kind == Kind::Busybox && options.iter().any(|option| *option == from_file) {
            continue;
        }
        let Some(reply) = curl_or_cut(&server.url(path), options) else { continue };
        assert!((400..500).contains(&reply.status), "{reply:?}");
        assert!(!reply.headers.contains_key("x-evil"), "{reply:?}");
        assert!(!reply.text().contains("<script>alert"), "{reply:?}");
    }
    let large = server.site.path("large");
    fs::write(&large, format!("title={}", "a".repeat(70_000))).unwrap();
    if let Some(reply) = curl_or_cut(&server.url("/epub"), &["-H", "Expect:", "-d", &format!("@{}", large.display())]) {
        reply.is(413);
    }
    assert_eq!(server.site.count("SELECT count(*) FROM job"), 0);
    curl(&address(server, "Emma"), &["-H", "Proxy: http://evil.example/"]).is(202);
    let log = server.log();
    assert!(log.lines().all(|line| !line.starts_with("X-Evil")) && !log.contains("pressroom:"), "{log}");
}
