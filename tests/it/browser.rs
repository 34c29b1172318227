//! A real browser: what a visitor sees from the first click to the file on the disk, with scripts and without.

use std::fs;

use serde_json::Value;

use crate::support::{
    browser::{Browser, USUAL, Visitor, assert_accessible},
    server::{Kind, Server},
    site::wait_until,
};

const TITLE: &str = "Slow “Île” 紅樓夢 ألف";

fn stage(test: &str, visitor: Visitor) -> Option<(Server, Browser)> {
    let both = Server::start(Kind::Nginx).and_then(|server| Ok((server, Browser::start(visitor)?)));
    both.map_err(|missing| crate::support::outside::skipped(test, &missing)).ok()
}

fn address(server: &Server, title: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("title", title).finish();
    server.url(&format!("/epub?{query}"))
}

fn comes_to(browser: &Browser, state: &str) {
    wait_until(&format!("the page shows {state}"), || browser.state() == state);
}

/// From queued to the file on the disk.
fn follow(server: &Server, browser: &Browser, name: &str, check: impl Fn(&Browser)) {
    browser.open(&address(server, TITLE));
    assert_eq!(browser.state(), "queued");
    assert_eq!(browser.text("#position"), "1");
    browser.shot(&format!("{name}-queued"));
    server.site.brief_tick().exits(0);
    comes_to(browser, "started");
    wait_until("the progress shows", || browser.attribute("#bar", "value") == "40");
    assert_eq!(browser.text("#message"), "Fetching images");
    browser.shot(&format!("{name}-started"));
    check(browser);
    fs::write(server.site.path("go"), "").unwrap();
    comes_to(browser, "ready");
    browser.shot(&format!("{name}-ready"));
    check(browser);
    let saved = browser.downloads().join(format!("{TITLE}.epub"));
    wait_until("the file is saved", || saved.exists());
    let made = fs::read_dir(server.site.path("s/cache/epub")).unwrap().next().unwrap().unwrap().path();
    wait_until("the file is whole", || fs::read(&saved).unwrap() == fs::read(&made).unwrap());
}

#[test]
fn with_scripts_the_page_follows_the_job_and_the_file_is_saved() {
    let Some((server, browser)) = stage("browser with scripts", USUAL) else { return };
    follow(&server, &browser, "scripts", |browser| assert_accessible(browser, "with scripts"));
}

#[test]
fn without_scripts_the_page_reloads_itself_and_the_file_is_saved() {
    let visitor = Visitor { scripts: false, ..USUAL };
    let Some((server, browser)) = stage("browser without scripts", visitor) else { return };
    follow(&server, &browser, "plain", |_| {});
}

/// With a page that stops after some seconds, where ours does after half an hour.
#[test]
fn a_page_that_has_stopped_checking_says_when_and_nothing_else() {
    let Some((server, browser)) = stage("browser stops", USUAL) else { return };
    let page = include_str!("../../src/web/pages/page.html")
        .replace("{{ data|safe }}", r#"{{ data|replace('"patience":1800', '"patience":4')|safe }}"#);
    fs::create_dir(server.site.path("pages")).unwrap();
    fs::write(server.site.path("pages/page.html"), page).unwrap();
    let config = fs::read_to_string(server.site.config()).unwrap();
    fs::write(server.site.config(), config.replace("[http]\n", "[http]\ntemplates = \"pages\"\n")).unwrap();
    browser.open(&address(&server, TITLE));
    assert_eq!(browser.state(), "queued");
    comes_to(&browser, "stopped");
    assert_eq!(browser.text("#title"), "This page no longer checks for your file");
    let year = jiff::Timestamp::now().strftime("%Y").to_string();
    let text = browser.text("#text");
    assert!(text.contains("The last check was at") && text.contains(&year), "{text}");
    for gone in ["#message", "#delay", "#position", "#expected", "#again", "#percent"] {
        let shown = format!("return Boolean(document.querySelector('{gone}').offsetParent)");
        assert_eq!(browser.script(&shown), Value::Bool(false), "{gone}");
    }
    assert_accessible(&browser, "stopped");
    browser.shot("stopped");
}

#[test]
fn a_failure_is_told_in_plain_words() {
    let Some((server, browser)) = stage("browser failure", USUAL) else { return };
    browser.open(&address(&server, "Bad"));
    comes_to(&browser, "queued");
    server.site.tick().exits(0);
    comes_to(&browser, "failed_unknown");
    assert_eq!(browser.text("#title"), "Your file could not be created");
    assert_eq!(browser.text("#message"), "there is no such book");
    assert!(!browser.text("#pressroom").contains("ry again"), "its input was bad");
    browser.shot("failed");
    assert_accessible(&browser, "failed");
    assert!(fs::read_dir(browser.downloads()).unwrap().next().is_none());
}

#[test]
fn pages_fit_a_phone_in_every_language_by_day_and_night() {
    for language in ["en", "de", "fr", "ar"] {
        let visitor = Visitor { language, phone: true, ..USUAL };
        let Some((server, browser)) = stage("browser on a phone", visitor) else { return };
        let long = format!("{}{}", "Donaudampfschifffahrt".repeat(6), TITLE);
        for (name, title) in [("queued", long.as_str()), ("invalid", "\u{7}")] {
            browser.open(&address(&server, title));
            assert_eq!(browser.state(), name);
            let root = "document.documentElement";
            let wide = browser.script(&format!("return {root}.scrollWidth - {root}.clientWidth"));
            assert_eq!(wide, 0, "{language} {name} is wider than the phone");
            for scheme in ["light", "dark"] {
                browser.prefer(scheme);
                assert_accessible(&browser, &format!("{language} {name} {scheme}"));
                browser.shot(&format!("phone-{language}-{name}-{scheme}"));
            }
        }
        assert_eq!(browser.script("return document.dir"), if language == "ar" { "rtl" } else { "ltr" });
    }
}

#[test]
fn a_button_queues_where_looking_does_not() {
    let Some((server, browser)) = stage("browser button", USUAL) else { return };
    let config = fs::read_to_string(server.site.config()).unwrap();
    fs::write(server.site.config(), config.replace("[http]\n", "[http]\nenqueue_on = \"post\"\n")).unwrap();
    browser.open(&address(&server, "Emma & \"Co\""));
    assert_eq!(browser.state(), "absent");
    assert_eq!(server.site.count("SELECT count(*) FROM job"), 0);
    assert_accessible(&browser, "absent");
    browser.shot("button");
    browser.click("button");
    comes_to(&browser, "queued");
    server.site.tick().exits(0);
    comes_to(&browser, "ready");
    let saved = browser.downloads();
    wait_until("the file is saved", || {
        fs::read_dir(&saved).unwrap().any(|file| file.unwrap().path().extension() == Some("epub".as_ref()))
    });
}

/// A page of the site from which a browser fetches what its user may want next.
#[test]
fn what_a_browser_fetches_ahead_queues_nothing_and_a_click_does() {
    let both = Server::start(Kind::Lighttpd).and_then(|server| Ok((server, Browser::start(USUAL)?)));
    let (server, browser) = match both {
        Ok(both) => both,
        Err(missing) => return crate::support::outside::skipped("browser prefetch", &missing),
    };
    let url = address(&server, "Emma");
    let list = format!("<link rel=prefetch href=\"{url}\"><a href=\"{url}\">Emma</a>");
    fs::write(server.site.path("web/list.html"), list).unwrap();
    browser.open(&server.base.replace("/export", "/list.html"));
    let status = "const of = performance.getEntriesByType('resource').find(entry => entry.name.includes('title=Emma'));\
                  return of ? of.responseStatus : null";
    wait_until("it is fetched ahead", || browser.script(status) == 503);
    assert_eq!(server.site.count("SELECT count(*) FROM job"), 0);
    browser.click("a");
    comes_to(&browser, "queued");
    assert_eq!(server.site.count("SELECT count(*) FROM job"), 1);
}
