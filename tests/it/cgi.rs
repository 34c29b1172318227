//! The web front called directly, by CGI: every state, every header, and what a file's download needs.

use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::support::{
    site::Site,
    web::{RULES, Reply, ask, cgi, get, post, program, reply, reply_to_body, reply_to_form, site},
};

const JSON: &[(&str, &str)] = &[("HTTP_ACCEPT", "application/json")];

fn made(title: &str) -> Site {
    let site = site().create();
    site.ask(title);
    site.tick();
    site
}

fn jobs(site: &Site) -> i64 {
    site.count("SELECT count(*) FROM job")
}

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
fn a_time_out_has_a_status_of_its_own() {
    let extra = format!("{RULES}timeout = \"1s\"\nmax_attempts = 1\n");
    let site = Site::new().exporter_with("sleep 60", &extra).more("[http]\nfailed_status = [502, 410]\n").create();
    get(&site, "title=Emma", &[]);
    site.tick();
    assert_eq!(get(&site, "title=Emma", JSON).is(410).is_passing().json()["state"], "failed_timeout");
    let site = site.more("");
    let failed = get(&site, "title=Emma", &[]);
    failed.is(504).says("could not be made in time");
    assert!(failed.retry_after() > 0);
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
fn too_many_from_one_client_are_limited() {
    let site = site().more("[queue.default]\nmax_per_client = 2\nmax_queued = 4\n").create();
    for title in ["A", "B"] {
        get(&site, &format!("title={title}"), &[]).is(202);
    }
    let limited = get(&site, "title=C", JSON);
    assert_eq!(limited.is(429).is_passing().json()["state"], "limited");
    assert!(limited.retry_after() > 0);
    // Asking again for what one has asked for already is no new wish, and others are others.
    get(&site, "title=A", &[]).is(202);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
    get(&site, "title=D", &[("REMOTE_USER", "anna")]).is(202);
    let full = get(&site, "title=E", &[("REMOTE_USER", "anna")]);
    full.is(503).is_passing().says("Too many files are waiting already.");
    assert!(full.retry_after() > 0);
    let stored = site.text("SELECT client FROM job WHERE filename = 'epub/A.epub'");
    assert!(stored.len() == 32 && stored.bytes().all(|byte| byte.is_ascii_hexdigit()), "{stored}");
}

#[test]
fn a_visitor_who_asks_for_too_many_new_files_is_told_when_to_come_again() {
    let site = site().more("[queue.default]\nnew_per_client = \"2/10m\"\n").create();
    for title in ["A", "B", "A"] {
        get(&site, &format!("title={title}"), &[]).is(202);
    }
    let limited = get(&site, "title=C", JSON);
    assert_eq!(limited.is(429).is_passing().json()["state"], "limited");
    let after = limited.retry_after();
    assert!((480..=600).contains(&after), "{after}");
    get(&site, "title=A", &[]).is(202);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
}

#[test]
fn a_refusal_tells_when_there_will_probably_be_room() {
    let site = site().more("[queue.default]\nmax_running = 4\nmax_per_client = 2\nmax_queued = 5\n").create();
    site.ask("Emma");
    site.tick();
    site.database().execute("UPDATE attempt SET duration = 120000", []).unwrap();
    for (title, client) in [("A", "a"), ("B", "a"), ("C", "b"), ("D", "c")] {
        get(&site, &format!("title={title}"), &[("REMOTE_USER", client)]).is(202);
    }
    // Four jobs of two minutes on four seats, two of them the client's.
    assert_eq!(get(&site, "title=E", &[("REMOTE_USER", "a")]).is(429).retry_after(), 60);
    get(&site, "title=E", &[("REMOTE_USER", "d")]).is(202);
    // A place in the queue is free when the next tick has come, and then each half minute.
    let full = get(&site, "title=F", &[("REMOTE_USER", "d")]).is(503).retry_after();
    assert!((30..=60).contains(&full), "{full}");
}

#[test]
fn the_client_is_the_variable_that_is_configured() {
    let site = site().more("[http]\nclient = \"HTTP_X_REAL_IP\"\n[queue.default]\nmax_per_client = 1\n").create();
    get(&site, "title=A", &[("HTTP_X_REAL_IP", "203.0.113.1")]).is(202);
    get(&site, "title=B", &[("HTTP_X_REAL_IP", "203.0.113.1")]).is(429);
    get(&site, "title=B", &[("HTTP_X_REAL_IP", "203.0.113.2")]).is(202);
}

#[test]
fn without_the_configured_variable_the_address_counts_and_status_and_check_say_so() {
    for client in ["HTTP_X_REAL_IP", "x-forwarded-for:1", "x-forwarded-for:192.0.2.0/24"] {
        let rules = format!("[http]\nclient = \"{client}\"\n[queue.default]\nmax_per_client = 1\n");
        let site = site().more(&rules).create();
        site.tick();
        site.run(&["status"]).exits(0);
        assert!(get(&site, "title=A", &[]).is(202).log.contains("REMOTE_ADDR"), "{client}");
        assert_eq!(get(&site, "title=B", &[]).is(429).log, "", "it is logged once");
        get(&site, "title=B", &[("REMOTE_ADDR", "192.0.2.8")]).is(202);
        site.run(&["status"]).exits(1).says("warning: a visitor came").says("client in [http]");
        assert_eq!(site.run(&["status", "--format", "json"]).json()["findings"][0]["code"], "client_missing");
        site.run(&["check"]).says("client in [http]");
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(site.path("s/queue/unnamed")).unwrap());
        assert_eq!(mode & 0o7777, 0o660);
    }
}

#[test]
fn a_visitor_cannot_make_up_the_hop_that_the_sites_own_proxy_added() {
    for client in ["x-forwarded-for:1", "x-forwarded-for:192.0.2.0/24"] {
        let rules = format!("[http]\nclient = \"{client}\"\n[queue.default]\nmax_per_client = 1\n");
        let site = site().more(&rules).create();
        let by = |title: &str, forwarded: &str| get(&site, title, &[("HTTP_X_FORWARDED_FOR", forwarded)]);
        by("title=A", "6.6.6.6, 203.0.113.1").is(202);
        by("title=B", "6.6.6.7, 203.0.113.1").is(429);
        by("title=B", "::ffff:203.0.113.1").is(429);
        by("title=B", "203.0.113.1, 203.0.113.2").is(202);
    }
}

#[test]
fn check_warns_of_a_header_that_any_visitor_can_make_up() {
    let warned = |client: &str| site().more(&format!("[http]\nclient = \"{client}\"\n")).create().run(&["check"]).out();
    assert!(warned("HTTP_X_FORWARDED_FOR").contains("warning: client in [http] takes the whole X-Forwarded-For"));
    assert!(!warned("x-forwarded-for:1").contains("X-Forwarded-For"));
}

/// One network is one client, by whichever way it asks; no row tells who it is.
#[test]
fn a_client_is_the_same_one_over_http_and_on_the_command_line() {
    let site = site().more("[queue.default]\nmax_per_client = 1\n").create();
    let ask = |title: &str, client: &str| site.run(&["request", "epub", &format!("title={title}"), "--client", client]);
    ask("A", "2001:db8::1").exits(75);
    ask("B", "2001:db8::2:3").exits(69).says("limited");
    get(&site, "title=B", &[("REMOTE_ADDR", "2001:db8::9")]).is(429);
    get(&site, "title=C", &[("REMOTE_ADDR", "192.0.2.7")]).is(202);
    ask("D", "::ffff:192.0.2.7").exits(69);
    ask("E", "anna").exits(75);
    get(&site, "title=F", &[("REMOTE_USER", "anna")]).is(429);
    let clients = site.text("SELECT group_concat(client) FROM job");
    assert!(clients.split(',').all(|client| client.len() == 32), "{clients}");
    for client in ["2001:db8::7", "192.0.2.7", "::ffff:192.0.2.7", "anna"] {
        site.run(&["jobs", "list", "--client", client]).exits(0).says("epub/");
    }
}

#[test]
fn names_are_stored_as_they_are_if_the_configuration_says_so_and_addresses_never() {
    let head = "state_dir = \"s\"\nclient_names = \"plain\"\n[cache]\nmin_free = \"0B\"\n";
    let site = site().head(head).create();
    site.run(&["request", "epub", "title=A", "--client", "ann"]).exits(75);
    get(&site, "title=B", &[("REMOTE_USER", "bob")]).is(202);
    site.run(&["request", "epub", "title=C", "--client", "192.0.2.7"]).exits(75);
    let client = |title: &str| site.text(&format!("SELECT client FROM job WHERE filename = 'epub/{title}.epub'"));
    assert_eq!((&*client("A"), &*client("B"), client("C").len()), ("ann", "bob", 32));
    for (client, file) in [("ann", "A.epub"), ("192.0.2.7", "C.epub")] {
        site.run(&["jobs", "list", "--client", client]).exits(0).says(file);
    }
}

#[test]
fn a_name_that_nginx_has_not_checked_counts_for_nothing() {
    let site = site().more("[status]\nadmins = [\"anna\"]\npublic = true\n").create();
    let nginx = [("SERVER_SOFTWARE", "nginx/1.22.1"), ("REMOTE_USER", "anna")];
    get(&site, "title=A", &nginx).is(202);
    site.run(&["jobs", "list", "--client", "192.0.2.7"]).exits(0).says("A.epub");
    let see = |more: &[(&str, &str)]| {
        let mut command = program(&site, "status", "GET", "page=jobs");
        reply(command.envs(nginx).envs(more.iter().copied()))
    };
    assert!(see(&[]).is(403).log.contains("AUTH_TYPE"));
    see(&[("AUTH_TYPE", "Basic")]).is(200);
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
        send(&[(name, value)]).is(403).is_passing().says("The form comes from another site");
        assert_eq!(jobs(&site), 0, "{value}");
    }
    send(&[("HTTP_SEC_FETCH_SITE", "same-origin"), ("HTTP_ORIGIN", "https://example.org")]).is(303);
    send(&[]).is(303);
    assert_eq!(jobs(&site), 1);
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
    fault.is(500).is_passing().says("The server has a fault");
    assert!(!fault.text().contains("toml") && !fault.text().contains("/tmp"));
    assert_eq!(fault.log.lines().count(), 1, "{}", fault.log);
    assert_eq!(get(&site, "title=Emma", JSON).is(500).json()["state"], "error");
}

#[test]
fn pages_speak_the_readers_language() {
    let site = site().create();
    for (accept, language, direction, title) in [
        ("de-AT,de;q=0.9,en;q=0.5", "de", "ltr", "Ihre Datei ist in der Warteschlange"),
        ("fr", "fr", "ltr", "Votre fichier attend son tour"),
        ("ar-EG", "ar", "rtl", "ملفك في قائمة الانتظار"),
        ("nl", "en", "ltr", "Your file is waiting its turn"),
    ] {
        let page = get(&site, "title=Emma", &[("HTTP_ACCEPT_LANGUAGE", accept)]);
        page.is(202).has("content-language", language).says(title);
        page.says(&format!("<html lang=\"{language}\" dir=\"{direction}\">"));
    }
}

#[test]
fn a_site_has_its_own_pages_and_languages() {
    let site = site().more("[http]\ntemplates = \"pages\"\n");
    std::fs::create_dir(site.path("pages")).unwrap();
    let site = site.create();
    std::fs::write(site.path("pages/it.toml"), "[queued]\ntitle = \"Il file è in coda\"\n").unwrap();
    get(&site, "title=Emma", &[("HTTP_ACCEPT_LANGUAGE", "it")])
        .is(202)
        .says("Il file è in coda")
        .says("Place in the queue");
    std::fs::write(site.path("pages/page.html"), "<h1>{{ title }}</h1>{{ name }}").unwrap();
    let own = get(&site, "title=%3Cb%3E", &[("HTTP_ACCEPT_LANGUAGE", "it")]);
    own.is(202).says("<h1>Il file è in coda</h1>&lt;b&gt;.epub");
    std::fs::write(site.path("pages/page.html"), "{% if %}").unwrap();
    let broken = get(&site, "title=Emma", &[]);
    broken.is(202).says("Place in the queue");
    assert!(broken.log.contains("page.html") && broken.log.lines().count() == 1, "{}", broken.log);
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
    get(&site, "title=Emma&format=page.1", &[]).says("Make the file");
    get(&site, "title=Emma&format=page", &[]).is(202);
    assert_eq!(get(&site, "title=Emma&format=look", &[]).is(202).json()["position"], 1);
    let tired = get(&site, "title=Emma&format=page.500", &[]);
    tired.is(202).says("This page has stopped looking.");
    for what in ["http-equiv", "Looks again in", "Place in the queue", "the download starts", "application/json"] {
        assert!(!tired.text().contains(what), "{what}: {}", tired.text());
    }
    let year = jiff::Timestamp::now().strftime("%Y-").to_string();
    tired.says(&format!("Its last check was at {year}")).says(" UTC;").says("Look again now");
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
    assert!(text.starts_with("Status: 200 OK\r\n") && text.contains("What you asked for has been done."), "{text}");
}

#[test]
fn hostile_text_reaches_no_markup_and_no_header() {
    let site = site().create();
    let title = "title=%3C%2Fscript%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27";
    let page = get(&site, title, &[]);
    page.is(202);
    assert!(!page.text().contains("<script>") && !page.text().contains("</script><"), "{}", page.text());
    let json: Value = get(&site, title, JSON).is(202).json();
    assert_eq!(json["state"], "queued");
    site.tick();
    let file = get(&site, title, &[]);
    file.is(200);
    let name = file.header("content-disposition");
    assert!(name.contains("filename*=UTF-8''%3C_script%3E"), "{name}");
    for (header, value) in [
        ("HTTP_ACCEPT_LANGUAGE", "de\r\nX: y"),
        ("HTTP_ACCEPT", "application/json\r\nX: y"),
        ("HTTP_RANGE", "bytes=0-\r\nX: y"),
        ("HTTP_IF_NONE_MATCH", "\"\r\nX: y"),
        ("REQUEST_URI", "/x\r\nX: y?title=Emma"),
        ("REMOTE_USER", "a\r\nX: y"),
    ] {
        let reply = get(&site, "title=Other", &[(header, value)]);
        assert!(reply.header("x").is_empty() && reply.log.is_empty(), "{reply:?}");
        reply.is(if header == "HTTP_ACCEPT" { 503 } else { 202 });
    }
}

#[test]
fn a_visitor_who_goes_away_is_no_fault() {
    let site = Site::new().exporter_with(r#"head -c 3000000 /dev/zero >"$1""#, RULES).create();
    site.ask("Emma");
    site.tick();
    let mut child = cgi(&site, "GET", "/epub", "title=Emma")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

fn http_date(time: std::time::SystemTime) -> String {
    let seconds = time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
