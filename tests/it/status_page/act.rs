//! What administrators do, and what nobody else can make them do.

use crate::support::{
    site::{Site, wait_until},
    status_site::{ADMIN, EXPORTER, OTHER, RULES, busy, hidden, job, post, see, token},
    web::Reply,
};

/// Everything that a deed could change.
fn state(site: &Site) -> String {
    let jobs = "SELECT coalesce(group_concat(id || ':' || status || ':' || cancel || ':' || attempts), '') FROM job";
    let queues = "SELECT coalesce(group_concat(name || '=' || mode), '') FROM queue";
    format!("{} {}", site.text(jobs), site.text(queues))
}

#[track_caller]
fn changes_nothing(site: &Site, status: u16, send: impl FnOnce() -> Reply) {
    let before = state(site);
    let reply = send();
    reply.is(status);
    assert_eq!(state(site), before, "{}", reply.text());
}

/// The page that a deed leads to.
#[track_caller]
fn follow(site: &Site, reply: &Reply) -> Reply {
    let location = reply.is(303).header("location");
    let query = location.strip_prefix('?').unwrap_or_else(|| panic!("{location}"));
    see(site, ADMIN, query)
}

#[test]
fn a_failed_job_is_queued_again_and_the_page_says_so() {
    let site = busy();
    let id = job(&site, "Bad").to_string();
    let page = see(&site, ADMIN, &format!("page=job&job={id}&file=x"));
    page.is(200).says("aria-label=\"Retry job 1\"");
    assert!(!page.text().contains("Cancel job"));
    let fields = ["token", "back", "job"].map(|name| (name, hidden(&page, name).unwrap()));
    let mut form: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
    form.push(("act", "retry"));
    let page = follow(&site, &post(&site, ADMIN, &form, &[]));
    page.is(200)
        .says("<h1>Job 1</h1>")
        .says("<p class=\"notice\" role=\"status\">Done: <bdi>queued job 1 (epub/Bad.epub)</bdi>");
    assert_eq!(site.count("SELECT status FROM job WHERE id = 1"), 0);
    assert!(!hidden(&page, "back").unwrap().contains("notice"));
    see(&site, ADMIN, "").says("anna</bdi>: <bdi>queued job 1 (epub/Bad.epub)</bdi>");
    // Once more there is nothing to retry.
    changes_nothing(&site, 409, || post(&site, ADMIN, &form, &[]));
    post(&site, ADMIN, &form, &[]).says("job 1 (epub/Bad.epub) is queued, there is nothing to retry");
}

#[test]
fn a_failed_job_is_dismissed_and_its_attempts_stay() {
    let site = busy();
    let id = job(&site, "Bad").to_string();
    see(&site, ADMIN, &format!("page=job&job={id}")).is(200).says("aria-label=\"Dismiss job 1\"");
    let token = token(&site, ADMIN);
    let dismiss = |id: &str| post(&site, ADMIN, &[("token", &token), ("act", "dismiss"), ("job", id)], &[]);
    follow(&site, &dismiss(&id)).says("dismissed job 1 (epub/Bad.epub)");
    assert_eq!(site.count("SELECT count(*) FROM job WHERE id = 1"), 0);
    see(&site, ADMIN, "page=history&exporter=epub").says("epub/Bad.epub");
    changes_nothing(&site, 409, || dismiss(&id));
    let waiting = job(&site, "<script>").to_string();
    changes_nothing(&site, 409, || dismiss(&waiting));
}

#[test]
fn a_queued_job_is_cancelled_and_a_started_one_is_asked_to_end() {
    let waits = format!("[ \"$2\" = Slow ] && while [ ! -e ../../../go ]; do sleep 0.02; done\n{EXPORTER}");
    let site = busy().exporter(&waits);
    let token = token(&site, ADMIN);
    let cancel = |id: &str| post(&site, ADMIN, &[("token", &token), ("act", "cancel"), ("job", id)], &[]);
    site.ask("Slow");
    let (waiting, slow) = (job(&site, "<script>").to_string(), job(&site, "Slow").to_string());
    assert!(follow(&site, &cancel(&waiting)).text().contains("cancelled job"));
    assert_eq!(site.count(&format!("SELECT count(*) FROM job WHERE id = {waiting}")), 0);
    site.brief_tick();
    see(&site, ADMIN, &format!("page=job&job={slow}")).says("is running").says("Cancel job");
    assert!(follow(&site, &cancel(&slow)).text().contains("asked job"));
    wait_until("the run has ended it", || site.count(&format!("SELECT count(*) FROM job WHERE id = {slow}")) == 0);
    see(&site, ADMIN, &format!("page=job&job={slow}&file=epub/Slow.epub")).is(200).says("cancelled");
    changes_nothing(&site, 409, || cancel("1"));
    changes_nothing(&site, 409, || cancel("999"));
}

#[test]
fn queues_are_paused_drained_and_resumed() {
    let site = busy();
    let token = token(&site, ADMIN);
    let act = |word: &str, queue: &str| post(&site, ADMIN, &[("token", &token), ("act", word), ("queue", queue)], &[]);
    for (word, mode) in [("pause", "paused"), ("drain", "draining"), ("resume", "open")] {
        let page = follow(&site, &act(word, "default"));
        page.says(&format!("queue default is {mode}"));
        assert_eq!(site.text("SELECT mode FROM queue WHERE name = 'default'"), mode);
        assert!(!page.text().contains(&format!(
            "aria-label=\"{}{} queue default",
            word[..1].to_uppercase(),
            &word[1..]
        )));
    }
    act("pause", "other").is(303);
    assert_eq!(site.text("SELECT mode FROM queue WHERE name = 'other'"), "paused");
    changes_nothing(&site, 404, || act("pause", "<none>"));
    changes_nothing(&site, 400, || act("delete", "default"));
    changes_nothing(&site, 400, || act("retry", "default"));
    changes_nothing(&site, 400, || act("pause", ""));
}

#[test]
fn those_who_may_not_act_get_no_forms_and_cannot_send_one() {
    let site = busy();
    for query in ["", "page=job&job=1"] {
        let page = see(&site, OTHER, query);
        assert!(!page.text().contains("method=\"post\"") && !page.text().contains("token"), "{}", page.text());
    }
    let theirs = token(&site, ADMIN);
    for user in [OTHER, "", "Anna"] {
        changes_nothing(&site, 403, || post(&site, user, &[("token", &theirs), ("act", "retry"), ("job", "1")], &[]));
        changes_nothing(&site, 403, || post(&site, user, &[("act", "pause"), ("queue", "default")], &[]));
    }
}

#[test]
fn who_is_no_longer_an_admin_cannot_use_the_form_that_is_still_open() {
    let site = busy().more("[status]\nadmins = [\"anna\", \"bert\"]\n");
    let open = token(&site, OTHER);
    let site = site.more(RULES);
    changes_nothing(&site, 403, || post(&site, OTHER, &[("token", &open), ("act", "retry"), ("job", "1")], &[]));
}

#[test]
fn a_form_that_is_not_from_a_page_of_ours_does_nothing() {
    let site = busy();
    let good = token(&site, ADMIN);
    let send = |token: &str, more: &[(&str, &str)]| {
        post(&site, ADMIN, &[("token", token), ("act", "retry"), ("job", "1")], more)
    };
    let turned: String = good.chars().rev().collect();
    for wrong in ["", "0", &good[1..], &format!("{good}0"), &turned, &"0".repeat(64), "é"] {
        changes_nothing(&site, 403, || send(wrong, &[]));
    }
    changes_nothing(&site, 403, || post(&site, ADMIN, &[("act", "retry"), ("job", "1")], &[]));
    for more in [
        &[("HTTP_SEC_FETCH_SITE", "cross-site")][..],
        &[("HTTP_SEC_FETCH_SITE", "same-site")],
        &[("HTTP_ORIGIN", "https://evil.example"), ("HTTP_HOST", "example.org")],
        &[("HTTP_ORIGIN", "null"), ("HTTP_HOST", "example.org")],
    ] {
        changes_nothing(&site, 403, || send(&good, more));
    }
    // A token of another site of the same machine.
    changes_nothing(&site, 403, || send(&token(&busy(), ADMIN), &[]));
    let same =
        [("HTTP_SEC_FETCH_SITE", "same-origin"), ("HTTP_ORIGIN", "https://example.org"), ("HTTP_HOST", "example.org")];
    send(&good, &same).is(303);
    assert_eq!(site.count("SELECT status FROM job WHERE id = 1"), 0);
}

#[test]
fn a_token_is_its_users_own_and_grows_old() {
    let two = "[status]\nadmins = [\"anna\", \"bert\"]\n";
    let site = busy().more(two);
    let good = token(&site, ADMIN);
    let send = |user: &str| post(&site, user, &[("token", &good), ("act", "pause"), ("queue", "default")], &[]);
    changes_nothing(&site, 403, || send(OTHER));
    site.clock(2.0 * 3600.0 + 1.0);
    changes_nothing(&site, 403, || send(ADMIN));
    send(ADMIN).says("the form is too old");
    site.clock(0.0);
    send(ADMIN).is(303);
}

#[test]
fn what_was_done_is_said_by_ourselves_only() {
    let site = busy();
    let done = post(&site, ADMIN, &[("token", &token(&site, ADMIN)), ("act", "pause"), ("queue", "default")], &[]);
    let query = done.header("location").strip_prefix('?').unwrap().to_owned();
    see(&site, ADMIN, &query).says("role=\"status\"").has("refresh", "30; url=?page=overview&span=hour");
    let lie = query.replace("default", "other");
    assert!(!see(&site, ADMIN, &lie).text().contains("role=\"status\""));
    assert!(!see(&site, OTHER, &query).text().contains("role=\"status\""));
}

#[test]
fn the_way_back_stays_on_the_page() {
    let site = busy();
    let token = token(&site, ADMIN);
    for back in
        ["https://evil.example/", "//evil.example", "page=jobs\r\nX-Evil: 1", "/\\evil", "page=jobs&queue=a%26b"]
    {
        let form = [("token", &*token), ("act", "pause"), ("queue", "default"), ("back", back)];
        let reply = post(&site, ADMIN, &form, &[("REQUEST_URI", "//evil.example/status?page=act")]);
        let location = reply.is(303).header("location");
        assert!(location.starts_with('?') && !location.contains([' ', '\\']), "{location}");
        assert!(!reply.headers.contains_key("x-evil"));
    }
}

#[test]
fn a_form_too_large_or_of_another_kind_does_nothing() {
    let site = busy();
    let large = "x".repeat(70_000);
    let token = token(&site, ADMIN);
    changes_nothing(&site, 413, || {
        post(&site, ADMIN, &[("token", &token), ("act", "retry"), ("job", "1"), ("x", &large)], &[])
    });
    let json = |site: &Site| {
        let mut command = crate::support::web::program(site, "status", "POST", "page=act");
        command.env("REMOTE_USER", ADMIN).env("CONTENT_TYPE", "application/json").env("CONTENT_LENGTH", "2");
        crate::support::web::reply_to_body(&mut command, b"{}")
    };
    changes_nothing(&site, 415, || json(&site));
}

#[test]
fn a_deed_rings_for_a_tick_that_lingers() {
    let site = busy();
    site.run(&["queues", "pause", "default"]).exits(0);
    let mut tick = site.command(&["tick", "--for", "50s", "--allow-root"]).spawn().unwrap();
    wait_until("the tick lingers", || site.count("SELECT coalesce(max(tick_at), 0) FROM meta") > 0);
    post(&site, ADMIN, &[("token", &token(&site, ADMIN)), ("act", "resume"), ("queue", "default")], &[]).is(303);
    wait_until("the waiting job is made", || site.names("s/cache/epub").len() == 2);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(tick.id()).unwrap()), nix::sys::signal::SIGTERM)
        .unwrap();
    tick.wait().unwrap();
}
