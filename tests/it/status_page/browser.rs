//! The status page in a real browser: read, filtered, paged, and a job retried by its button.

use crate::support::{
    browser::{Browser, USUAL, Visitor, assert_accessible},
    server::{Kind, PASSWORD, Server, USERS},
    site::wait_until,
    status_site::HOSTILE,
};

fn stage(test: &str, visitor: Visitor) -> Option<(Server, Browser)> {
    let both = Server::start(Kind::Nginx).and_then(|server| Ok((server, Browser::start(visitor)?)));
    both.map_err(|missing| crate::support::outside::skipped(test, &missing)).ok()
}

/// With a past of two hours, a failure with a hostile log, and more jobs than one page shows.
fn fill(server: &Server) {
    let site = &server.site;
    site.ask("Bad").exits(75);
    site.ask("Emma").exits(75);
    site.tick();
    let log = format!("{}\n{HOSTILE}\n\u{1b}[31mred\u{0}\n</pre><img src=x onerror=alert(1)>\n", "x".repeat(50_000));
    let database = site.database();
    database.execute("UPDATE attempt SET log_tail = ?1", [log]).unwrap();
    let sample = "INSERT OR REPLACE INTO sample (at, queue, queued, started)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
        SELECT ?1 - i * 60000, 'default', abs(i % 40 - 20), i % 4 FROM n";
    database.execute(sample, [jiff::Timestamp::now().as_millisecond()]).unwrap();
    for number in 0..58 {
        site.ask(&format!("Book {number}")).exits(75);
    }
    site.ask(HOSTILE).exits(75);
}

/// An address with the name and the password of the first user.
fn logged_in(server: &Server, query: &str) -> String {
    let address = server.status().replacen("http://", &format!("http://{}:{PASSWORD}@", USERS[0]), 1);
    format!("{address}{query}")
}

#[test]
fn an_admin_reads_filters_and_retries_by_button() {
    let Some((server, browser)) = stage("status page in a browser", USUAL) else { return };
    fill(&server);
    browser.open(&logged_in(&server, ""));
    assert_eq!(browser.text("h1"), "Overview");
    assert!(browser.text("main").contains("Queued: "), "{}", browser.text("main"));
    // The style is let in by its nonce, nothing else would be, and the plots have their colours.
    let colour = |selector: &str| {
        browser.script(&format!("return getComputedStyle(document.querySelector('{selector}')).stroke"))
    };
    browser.prefer("light");
    assert_eq!(colour("svg [stroke=\"#2F7DC4\"]"), "rgb(31, 111, 180)");
    browser.prefer("dark");
    assert_eq!(colour("svg [stroke=\"#2F7DC4\"]"), "rgb(111, 179, 242)");
    filters_and_pages(&browser);
    retries(&server, &browser);
}

fn filters_and_pages(browser: &Browser) {
    browser.click("nav a[href*=jobs]");
    wait_until("the jobs are shown", || browser.text_if("h1") == "Jobs");
    let rows = || browser.script("return document.querySelectorAll('tbody tr').length");
    assert_eq!(rows(), 50);
    browser.shot("status-jobs");
    browser.click("a[rel=next]");
    wait_until("the older ones are shown", || rows() == 10);
    browser.script("document.querySelector('#f-status').value = 'failed'");
    browser.click(".send button");
    wait_until("the failed ones are shown", || rows() == 1);
}

fn retries(server: &Server, browser: &Browser) {
    browser.click("tbody a");
    wait_until("the job is shown", || browser.text_if("h1") == "Job 1");
    let log = browser.text("pre");
    assert!(log.contains("<script>alert(1)</script>\\u{202e}gpj") && log.contains("\\u{1b}[31mred\\u{0}"), "{log}");
    assert_eq!(browser.script("return document.querySelectorAll('script, img').length"), 0);
    browser.shot("status-job");
    browser.click("button[value=retry]");
    wait_until("the notice is shown", || browser.script("return !!document.querySelector('.notice')") == true);
    assert_eq!(browser.text(".notice"), "Done: queued job 1 (epub/Bad.epub)");
    assert_eq!(server.site.count("SELECT status FROM job WHERE id = 1"), 0);
    browser.shot("status-retried");
}

#[test]
fn every_page_is_accessible_and_fits_by_day_and_night() {
    for phone in [false, true] {
        let Some((server, browser)) = stage("status page accessibility", Visitor { phone, ..USUAL }) else { return };
        fill(&server);
        server.site.run(&["queues", "pause", "default"]).exits(0);
        for (name, query) in [
            ("overview", ""),
            ("day", "?span=day&refresh=off"),
            ("jobs", "?page=jobs"),
            ("history", "?page=history"),
            ("job", "?page=job&job=1"),
            ("refusal", "?page=job&job=999"),
        ] {
            browser.open(&logged_in(&server, query));
            let root = "document.documentElement";
            let wide = browser.script(&format!("return {root}.scrollWidth - {root}.clientWidth"));
            assert_eq!(wide, 0, "{name} is wider than the window");
            for scheme in ["light", "dark"] {
                browser.prefer(scheme);
                assert_accessible(&browser, &format!("status {name} {scheme} phone {phone}"));
                browser.shot(&format!("status-{name}-{scheme}{}", if phone { "-phone" } else { "" }));
            }
        }
    }
}

#[test]
fn the_overview_looks_again_by_itself_without_scripts() {
    let visitor = Visitor { scripts: false, ..USUAL };
    let Some((server, browser)) = stage("status page without scripts", visitor) else { return };
    fill(&server);
    browser.open(&logged_in(&server, ""));
    let before = browser.text("footer");
    wait_until("the page has looked again", || !["", &*before].contains(&&*browser.text_if("footer")));
    assert_eq!(browser.text("h1"), "Overview");
}
