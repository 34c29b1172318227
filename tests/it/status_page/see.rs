//! Who sees what.

use std::fs;

use crate::support::{
    site::Site,
    status_site::{ADMIN, HOSTILE, OTHER, RULES, busy, hidden, job, see, see_with, site},
    untouched::writes_nothing,
    web::{Reply, program, reply},
};

const PAGES: [&str; 5] = ["", "page=jobs", "page=history", "page=job&file=epub/Made.epub", "span=day&refresh=off"];

/// What nobody who has not logged in may read, whatever the page.
#[track_caller]
fn tells_nothing(site: &Site, reply: &Reply) {
    let text = reply.text().replace("&#x2f;", "/").replace("&lt;", "<");
    let dir = site.dir().display().to_string();
    for secret in ["Made", "Bad", "script", "epub", "client", "no such book", "bold", "/s/", "title", &dir] {
        let found = secret == "title" && text.contains("<title>"); // the page's own
        assert!(found || !text.contains(secret), "{secret:?} in {text}");
    }
}

#[track_caller]
fn is_guarded(reply: &Reply) {
    reply.has("cache-control", "no-store").has("x-robots-tag", "noindex, nofollow");
    reply.has("x-content-type-options", "nosniff").has("referrer-policy", "same-origin");
    let policy = reply.header("content-security-policy");
    let mut parts: Vec<_> = policy.split("; ").filter(|part| !part.starts_with("style-src 'nonce-")).collect();
    parts.sort_unstable();
    assert_eq!(parts, ["base-uri 'none'", "default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"]);
    if let Some((_, rest)) = policy.split_once("'nonce-") {
        let nonce = rest.split('\'').next().unwrap();
        assert!(nonce.len() >= 22 && reply.text().contains(&format!("<style nonce=\"{nonce}\">")), "{policy}");
    }
    assert!(!reply.text().contains("style=") && !reply.text().contains("<script"), "{}", reply.text());
}

#[test]
fn without_a_name_nobody_sees_anything() {
    let site = busy();
    for query in PAGES.into_iter().chain(["page=act", "page=nonsense", "page=%ff"]) {
        let refused = see(&site, "", query);
        refused.is(403).has("content-type", "text/plain; charset=utf-8");
        is_guarded(&refused);
        assert_eq!(refused.text(), "log in to see this page\n");
        let mut command = program(&site, "status", "POST", query);
        reply(&mut command).is(403);
    }
    // What a client can claim is not what the server says.
    see_with(&site, "", "", &[("HTTP_REMOTE_USER", ADMIN), ("HTTP_AUTHORIZATION", "Basic YW5uYTo=")]).is(403);
    let json = see_with(&site, "", "", &[("HTTP_ACCEPT", "application/json")]);
    assert_eq!(json.is(403).json(), serde_json::json!({ "state": "error", "reason": "log in to see this page" }));
}

#[test]
fn a_public_page_does_not_walk_through_the_cache() {
    let site = busy().more(&RULES.replace("[status]\n", "[status]\npublic = true\n"));
    let log = site.path("trace");
    for query in ["", "format=json"] {
        let like = program(&site, "status", "GET", query);
        let mut traced = std::process::Command::new("strace");
        traced.args(["-f", "-e", "trace=openat,newfstatat,statx", "-o"]).arg(&log);
        traced.args([env!("CARGO_BIN_EXE_pressroom"), "status", "--cgi"]).current_dir(site.dir()).env_clear();
        traced.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        reply(&mut traced).is(200);
        let calls = fs::read_to_string(&log).unwrap();
        assert!(
            calls.contains("pressroom.db") && !calls.contains("\"epub\"") && !calls.contains("Made.epub"),
            "{calls}"
        );
    }
}

#[test]
fn a_public_page_shows_counts_and_nothing_more() {
    let site = busy().more(&RULES.replace("[status]\n", "[status]\npublic = true\n"));
    let page = see(&site, "", "");
    page.is(200).says(">1 of 500</td>").says("0 of 8").says("1 of 2 attempts failed");
    is_guarded(&page);
    tells_nothing(&site, &page);
    assert!(
        !page.text().contains("<form") && !page.text().contains("<svg") && !page.text().contains("<a href=\"?page=j")
    );
    let json = see(&site, "", "format=json");
    tells_nothing(&site, &json);
    let counts = json.is(200).json();
    assert_eq!(counts["queues"][0]["queued"], 1);
    assert_eq!(counts["failures"]["exit"], 1);
    assert_eq!(counts["state"], "well");
    for query in &PAGES[1..4] {
        see(&site, "", query).is(403);
    }
    reply(program(&site, "status", "POST", "").env("SCRIPT_NAME", "/status")).is(403);
    see(&site, OTHER, "page=jobs").is(200);
}

#[test]
fn whoever_has_logged_in_sees_all_that_status_says() {
    let site = busy();
    let page = see(&site, OTHER, "");
    page.is(200).has("content-type", "text/html; charset=utf-8").has("refresh", "30; url=?page=overview&span=hour");
    is_guarded(&page);
    let said = site.run(&["status"]).out();
    for fact in ["held back", "oldest queued", "last tick", "last hour", "cache", "disk", "database"] {
        if let Some(line) = said.lines().find(|line| line.starts_with(fact)) {
            page.says(&format!("<dt>{fact}</dt>"));
            let value = line[14..].trim();
            let same = !value.contains("ago") && !value.contains(" for ") && !value.contains("free");
            assert!(!same || page.text().replace("&#x2f;", "/").contains(value), "{value:?} in {}", page.text());
        }
    }
    page.says("<bdi>default</bdi>").says("<bdi>other</bdi>").says("exit 1, of 2 attempts that ended");
    let still = see(&site, OTHER, "refresh=off");
    assert_eq!(still.is(200).header("refresh"), "");
    let json = see_with(&site, OTHER, "", &[("HTTP_ACCEPT", "application/json")]).is(200).json();
    let own = site.run(&["status", "--format", "json"]).json();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), keys(&own));
    assert_eq!((&json["queues"], &json["oldest_queued"]["job"]), (&own["queues"], &own["oldest_queued"]["job"]));
}

#[test]
fn findings_stand_on_the_overview_with_their_level() {
    let site = busy();
    site.run(&["queues", "pause", "default"]).exits(0);
    let page = see(&site, OTHER, "");
    page.says("<strong>warning</strong>: something needs attention")
        .says("queue default is paused: no job of it is started");
    page.says("<dt>held back</dt><dd><bdi>queue default: paused");
    let sql = "UPDATE meta SET tick_at = tick_at - 840000, tick_boottime = tick_boottime - 840000";
    site.database().execute(sql, []).unwrap();
    see(&site, OTHER, "").says("<strong>critical</strong>: something is broken").says("no tick has run for 14m");
}

#[test]
fn looking_changes_nothing() {
    let site = busy();
    let id = job(&site, "Bad").to_string();
    for query in
        PAGES.into_iter().chain([&*format!("page=job&job={id}"), "page=act", "page=jobs&client=x&param=title=y"])
    {
        writes_nothing(&site, || see(&site, ADMIN, query));
    }
    // Nor does it wait for whoever writes.
    let database = site.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    see(&site, ADMIN, "page=jobs").is(200);
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let site = busy();
    let millions = "ä".repeat(50_000); // a longer text makes the row unreadable
    site.database()
        .execute("UPDATE job SET message = ?1 WHERE status = 3", [format!("{HOSTILE}\u{0}{millions}")])
        .unwrap();
    site.database().execute("UPDATE attempt SET detail = ?1 WHERE result = 'exit'", [&millions]).unwrap();
    let bad = format!("page=job&job={}", job(&site, "Bad"));
    for query in ["", "page=jobs", "page=history", &bad, "page=jobs&exporter=%3Cscript%3E%22%27&param=a=%3Cb%3E"] {
        let page = see(&site, ADMIN, query);
        is_guarded(page.is(200));
        let text = page.text();
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{text}");
        assert!(!text.contains("<b>") && !text.contains("</pre><") && text.len() < 60_000, "{}", text.len());
    }
    let page = see(&site, ADMIN, &bad);
    page.says("&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}gpj")
        .says("&lt;/pre&gt;&lt;b&gt;bold&lt;/b&gt;\\u{202e}end");
    page.says("<h1>Job 1</h1>").says("exit, exit status 65").says("ä…</bdi>");
}

#[test]
fn a_name_may_be_anything() {
    let site = site();
    see(&site, HOSTILE, "").is(200).says("for <bdi>&lt;script&gt;alert(1)").says("\\u{202e}gpj&quot;");
    let mut command = program(&site, "status", "GET", "");
    let bytes: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff\xfe");
    let page = reply(command.env("REMOTE_USER", bytes));
    page.is(200).says("for <bdi>\u{fffd}");
    assert_eq!(hidden(&page, "token"), None);
}

#[test]
fn what_is_not_there_is_said_so() {
    let site = busy();
    see(&site, OTHER, "page=nonsense").is(404).says("there is no such page");
    see_with(&site, OTHER, "", &[("PATH_INFO", "/jobs")]).is(404);
    see_with(&site, OTHER, "", &[("PATH_INFO", "/")]).is(200);
    see(&site, OTHER, "page=job&job=999").is(404).says("there is no job");
    see(&site, OTHER, "page=job").is(400);
    see(&site, OTHER, "page=jobs&since=gestern").is(400).says("is not a time");
    see(&site, OTHER, "page=jobs&status=lost").is(400);
    see(&site, OTHER, "page=jobs&below=x").is(400);
    see(&site, OTHER, "page=history&below=7").is(400);
    see(&site, OTHER, "page=jobs&queue=%ff").is(400);
    see(&site, OTHER, "page=act").is(405).has("allow", "POST");
    let other = |method: &str, query: &str| {
        let mut command = program(&site, "status", method, query);
        reply(command.env("REMOTE_USER", OTHER).env("SCRIPT_NAME", "/status"))
    };
    other("POST", "page=jobs").is(405).has("allow", "GET, HEAD");
    other("DELETE", "").is(405).has("allow", "GET, HEAD, POST");
    other("HEAD", "page=act").is(405).has("allow", "POST");
}

#[test]
fn head_is_a_get_without_its_body() {
    let site = busy();
    for query in PAGES {
        let mut command = program(&site, "status", "HEAD", query);
        let head = reply(command.env("REMOTE_USER", OTHER));
        let page = see(&site, OTHER, query);
        assert!(head.is(200).body.is_empty());
        let names = |reply: &Reply| reply.headers.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&head), names(&page));
    }
}

#[test]
fn what_is_broken_is_told_to_those_who_have_logged_in() {
    let site = busy();
    let broken = |site: &Site, part: &str, anonymous: u16| {
        let nobody = see(site, "", "");
        nobody.is(anonymous);
        tells_nothing(site, &nobody);
        assert!(!nobody.text().contains(part));
        see(site, OTHER, "").is(500).says(part);
        let json = see_with(site, OTHER, "format=json", &[]).is(500).json();
        assert_eq!((&json["state"], &json["findings"][0]["code"]), (&"critical".into(), &"broken".into()));
        let last = see(site, ADMIN, "page=jobs");
        last.is(500).says(part);
        last
    };
    fs::rename(site.path("s/queue"), site.path("s/away")).unwrap();
    broken(&site, "check --create", 403);
    fs::rename(site.path("s/away"), site.path("s/queue")).unwrap();
    site.database().execute_batch("PRAGMA user_version = 99").unwrap();
    broken(&site, "newer", 403);
    fs::rename(site.path("s"), site.path("gone")).unwrap();
    broken(&site, "there is no state directory", 403);
    fs::write(site.config(), "nonsense = 1\n").unwrap();
    assert_eq!(broken(&site, "nonsense", 500).log.lines().count(), 1);
}

#[test]
fn a_fault_of_the_program_is_a_status_of_its_own() {
    let site = site();
    // Words of a server do not count, and without a server there is nothing to answer.
    let mut command = program(&site, "status", "GET", "");
    reply(command.arg("--help").arg("x").env("REMOTE_USER", OTHER)).is(200);
    site.run(&["status", "--cgi"]).exits(64).warns("--cgi is for web servers");
}
