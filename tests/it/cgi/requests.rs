//! What is no request for a file, or not one that queues it.

use super::{JSON, jobs};
use crate::support::web::{Reply, ask, cgi, get, post, reply, reply_to_body, reply_to_form, site};

#[test]
fn a_value_that_does_not_match_is_refused_without_its_pattern() {
    let site = site().more("pattern = \"[A-Z][a-z]+\"\n").create();
    site.ask("emma").exits(65).stdout("invalid parameter title does not match [A-Z][a-z]+\n");
    let json = get(&site, "title=emma", JSON).is(400).json();
    assert_eq!(json["reason"], "parameter title is not valid here");
    let page = get(&site, "title=emma", &[]);
    page.is(400).says("parameter title is not valid here");
    assert!(!page.text().contains("[a-z]"), "{}", page.text());
}

#[test]
fn other_methods_are_not_allowed() {
    let site = site().create();
    for method in ["PUT", "DELETE", "OPTIONS", "TRACE", "get"] {
        ask(&site, method, "/epub", "title=Emma", &[]).is(405).is_passing().has("allow", "GET, HEAD, POST");
    }
    assert_eq!(jobs(&site), 0);
}

#[test]
fn what_does_not_fit_is_a_bad_request_and_queues_nothing() {
    let site = site().create();
    let long = format!("title={}", "a".repeat(8192));
    let cases = [
        "",
        "title=a&title=b",
        "titel=Emma",
        "title=%FF",
        "title=a%00b",
        "title=a%0D%0ASet-Cookie:%20x",
        &*long,
        "title=Emma&format=xml",
        "title=Emma&wait=soon",
        "title=Emma&refresh=perhaps",
        "title=Emma&after=soon",
        "title=Emma&after=2099-01-01T00:00:00Z",
        "exporter=epub&title=Emma",
        "title=Emma&format=json&format=json",
    ];
    for query in cases {
        let refused = get(&site, query, JSON);
        assert_eq!(refused.is(400).is_passing().json()["state"], "invalid", "{query}");
        assert_eq!(refused.log, "");
        get(&site, query, &[]).is(400).is_passing();
    }
    assert_eq!(jobs(&site), 0);
}

/// As browsers and the URL standard have it: no second way to write an address leads to another file.
#[test]
fn a_name_without_an_equals_sign_has_an_empty_value() {
    let site = site()
        .more("[exporter.epub.params.note]\nrequired = false\n[exporter.epub.params.lang]\ndefault = \"fr\"\n")
        .create();
    let state = |query: &str| {
        let reply = get(&site, query, JSON);
        (reply.status, reply.json()["state"].clone(), reply.json()["filename"].clone())
    };
    assert_eq!(state("title=Emma&note").0, 202);
    assert_eq!(state("title=Emma&note"), state("title=Emma"));
    for name in ["title", "title=Emma&lang", "title=Emma&after", "title=Emma&wait", "title=Emma&format"] {
        assert_eq!(state(name), state(&format!("{name}=")), "{name}");
    }
    for repeated in ["title&title=Emma", "title=Emma&note&note"] {
        get(&site, repeated, JSON).is(400);
    }
    get(&site, "title=Emma&unknown", JSON).is(400);
}

#[test]
fn only_exporters_for_the_web_exist() {
    let more = "[exporter.secret]\ncommand = [\"true\"]\nfilename = \"x.txt\"\n";
    let site = site().more(more).create();
    for path in [
        "/secret",
        "/nothing",
        "/",
        "",
        "/epub/x",
        "/../../etc/passwd",
        "/epub/../../../etc/passwd",
        "/%65pub",
        "/EPUB",
    ] {
        let unknown = ask(&site, "GET", path, "title=Emma", JSON);
        assert_eq!(unknown.is(404).is_passing().json()["reason"], "there is no such export", "{path}");
        ask(&site, "GET", path, "title=Emma", &[]).is(404).says("There is no such export");
    }
    assert_eq!(jobs(&site), 0);
    ask(&site, "GET", "", "exporter=epub&title=Emma", &[]).is(202).says("/export?exporter=epub&amp;title=Emma");
    assert_eq!(jobs(&site), 1);
}

#[test]
fn a_form_is_answered_by_a_redirection() {
    let site = site().create();
    let queued = post(&site, "/epub", "ignored=1", b"title=d%E2%80%99Ag+e%2B&wait=5");
    queued.is(303).is_passing().has("location", "/export/epub?title=d%E2%80%99Ag+e%2B&wait=5s");
    assert_eq!(site.text("SELECT filename FROM job"), "epub/d’Ag%20e+.epub");
    post(&site, "", "exporter=epub", b"title=Nana&format=json")
        .is(303)
        .has("location", "/export?exporter=epub&title=Nana&format=json");
    post(&site, "/epub", "", b"title=a&title=b").is(400);
    post(&site, "/nothing", "", b"title=a").is(404);
    assert_eq!(jobs(&site), 2);
}

#[test]
fn a_bad_body_is_refused_and_never_waited_for() {
    let site = site().create();
    let large = vec![b'a'; 70_000];
    post(&site, "/epub", "", &large).is(413).is_passing();
    let sent = |length: &str, kind: &str, body: &[u8]| -> Reply {
        let mut command = cgi(&site, "POST", "/epub", "");
        reply_to_body(command.env("CONTENT_LENGTH", length).env("CONTENT_TYPE", kind), body)
    };
    let form = "application/x-www-form-urlencoded";
    sent("99", form, b"title=Emma").is(400).is_passing();
    sent("ten", form, b"title=Emma").is(400);
    sent("10", "multipart/form-data; boundary=x", b"title=Emma").is(415);
    sent("10", form, b"title=Emma&title=more").is(303);
    assert_eq!(jobs(&site), 1);
}

#[test]
fn with_a_button_only_a_form_queues() {
    let site = site().more("[http]\nenqueue_on = \"post\"\nrefresh = \"0s\"\n").create();
    let page = get(&site, "title=%3Cb%3E%22Emma&after=2020-01-01T00:00:00Z", &[]);
    page.is(404).is_passing().says("<form method=\"post\" action=\"/export/epub\">");
    page.says("name=\"title\" value=\"&lt;b&gt;&quot;Emma\"").says("name=\"after\"").says("<button type=\"submit\">");
    assert_eq!(jobs(&site), 0);
    assert_eq!(get(&site, "title=Emma", JSON).is(404).json()["state"], "absent");
    post(&site, "/epub", "", b"title=Emma").is(303);
    get(&site, "title=Emma", &[]).is(202);
    assert_eq!(jobs(&site), 1);
}

#[test]
fn a_form_of_another_site_queues_nothing() {
    let site = site().more("[http]\nenqueue_on = \"post\"\n").create();
    let send = |more: &[(&str, &str)]| {
        let mut command = cgi(&site, "POST", "/epub", "");
        reply_to_form(command.env("HTTP_HOST", "example.org").envs(more.iter().copied()), b"title=Emma")
    };
    for (name, value) in [
        ("HTTP_SEC_FETCH_SITE", "cross-site"),
        ("HTTP_SEC_FETCH_SITE", "same-site"),
        ("HTTP_ORIGIN", "https://evil.example"),
        ("HTTP_ORIGIN", "https://example.org:8443"),
        ("HTTP_ORIGIN", "null"),
    ] {
        send(&[(name, value)]).is(403).is_passing().says("The form was sent from another site");
        assert_eq!(jobs(&site), 0, "{value}");
    }
    send(&[("HTTP_SEC_FETCH_SITE", "same-origin"), ("HTTP_ORIGIN", "https://example.org")]).is(303);
    send(&[]).is(303);
    assert_eq!(jobs(&site), 1);
}

#[test]
fn what_visits_make_has_its_mode_whatever_the_umask() {
    let site = site().more("[http]\nmax_wait = \"10ms\"\nclient = \"HTTP_X\"\n").create();
    let words = format!("umask 077; exec {} request --cgi", env!("CARGO_BIN_EXE_pressroom"));
    let mut visit = std::process::Command::new("/bin/sh");
    let like = cgi(&site, "GET", "/epub", "title=Emma&wait=1h");
    visit.args(["-c", &words]).current_dir(site.dir()).env_clear();
    visit.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    reply(&mut visit).is(202);
    for name in ["waiters", "unnamed", "pressroom.db-wal", "pressroom.db-shm"] {
        let about = std::fs::metadata(site.path("s/queue").join(name)).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&about) & 0o7777, 0o660, "{name}");
    }
}

#[test]
fn words_of_the_server_and_a_proxy_header_are_ignored() {
    let site = site().create();
    let mut command = cgi(&site, "GET", "/epub", "title=Emma");
    reply(command.args(["--help", "tick", "--config=/nowhere"]).env("HTTP_PROXY", "http://evil.example:1/")).is(202);
    site.run(&["request", "--cgi"]).exits(64).warns("REQUEST_METHOD");
}

#[test]
fn a_link_for_servers_answers_the_request_whatever_it_is_told_to_do() {
    let site = site().create();
    let link = site.path("pressroom.cgi");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pressroom"), &link).unwrap();
    let mut command = std::process::Command::new(link);
    command.args(["tick", "--help"]).env_clear().env("PRESSROOM_CONFIG", site.config()).env("REQUEST_METHOD", "GET");
    reply(command.env("PATH_INFO", "/epub").env("QUERY_STRING", "title=Emma")).is(503);
    assert_eq!(jobs(&site), 1);
}

#[test]
fn the_script_for_servers_hands_on_the_request_and_nothing_else() {
    let site = site().create();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/bin/pressroom.cgi");
    let mut command = std::process::Command::new(script);
    command.args(["tick", "--help"]).env_clear().env("PRESSROOM_CONFIG", site.config());
    command.env("PRESSROOM", env!("CARGO_BIN_EXE_pressroom")).env("REQUEST_METHOD", "GET").env("PATH_INFO", "/epub");
    reply(command.env("QUERY_STRING", "title=Emma")).is(503);
    assert_eq!(jobs(&site), 1);
}
