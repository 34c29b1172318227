//! Every page has a way on, without scripts: what a visitor can click leads to the file, to the next look, or back.

use crate::support::{
    classes::set_mode,
    site::Site,
    web::{RULES, Reply, ask, cgi, get, post, program, reply, reply_to_form, site},
};

/// A visitor from a page of the site.
const FROM: [(&str, &str); 2] = [("HTTP_HOST", "Books.example"), ("HTTP_REFERER", "https://books.example/list?a=1#x")];
const TITLE: &str = "title=%3Cb%3E%22%26Emma%22";

fn unescaped(text: &str) -> String {
    let entities = [("&#x2f;", "/"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

fn between(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    Some(unescaped(rest.split_once(after)?.0))
}

/// The address and the text of the page's link.
fn link(page: &Reply) -> Option<(String, String)> {
    let text = page.text();
    let url = between(&text, "<a id=\"link\" href=\"", "\"")?;
    Some((url, between(text.split_once("<a id=\"link\"")?.1, ">", "</a>")?))
}

/// The body that the page's form sends.
fn form(page: &Reply) -> Option<String> {
    let text = page.text();
    let (_, form) =
        text.split_once("<form method=\"post\" action=\"/export/epub\">".replace('/', "&#x2f;").as_str())?;
    let (form, _) = form.split_once("</form>")?;
    assert!(form.contains("<button type=\"submit\">"), "{form}");
    let pairs = form.split("<input type=\"hidden\" ").skip(1);
    let pairs = pairs.map(|pair| (between(pair, "name=\"", "\"").unwrap(), between(pair, "value=\"", "\"").unwrap()));
    Some(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}

#[track_caller]
fn leads_back(page: &Reply, label: &str) {
    assert_eq!(link(page), Some(("/list?a=1".to_owned(), label.to_owned())), "{}", page.text());
    assert_eq!(form(page), None);
}

#[track_caller]
fn asks_again_by_link(page: &Reply, label: &str) {
    assert_eq!(link(page), Some((format!("/export/epub?{TITLE}"), label.to_owned())), "{}", page.text());
    assert_eq!(form(page), None);
}

#[track_caller]
fn asks_again_by_form(page: &Reply) {
    assert_eq!(form(page).as_deref(), Some(TITLE), "{}", page.text());
}

#[test]
fn what_is_refused_after_a_form_can_be_sent_again_with_its_values() {
    let site = site().more("[queue.default]\nmax_per_client = 1\n").create();
    post(&site, "/epub", "", b"title=Nana").is(303);
    let limited = post(&site, "/epub", "", TITLE.as_bytes());
    limited.is(429);
    asks_again_by_form(&limited);
    assert!(!limited.text().contains("<b>"), "{}", limited.text());
    let by_address = get(&site, TITLE, &[]);
    asks_again_by_link(by_address.is(429), "Try again");
    site.tick();
    post(&site, "/epub", "", form(&limited).unwrap().as_bytes()).is(303);
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
}

#[test]
fn what_is_unavailable_can_be_asked_for_again() {
    let site = site().create();
    set_mode(&site, "default", "draining");
    asks_again_by_form(post(&site, "/epub", "", TITLE.as_bytes()).is(503));
    asks_again_by_link(get(&site, TITLE, &[]).is(503), "Try again");
    // A task comes back to itself by a click alone.
    let task = "[exporter.reindex]\nweb = true\noutput = \"none\"\ncommand = [\"true\"]\n";
    let site = site.more(task);
    set_mode(&site, "reindex", "draining");
    let page = ask(&site, "GET", "/reindex", "", &[]);
    assert_eq!(link(page.is(503)), Some(("/export/reindex".to_owned(), "Try again".to_owned())));
    assert!(!page.text().contains("http-equiv") && !page.text().contains("<script"), "{}", page.text());
}

#[test]
fn a_failure_has_a_control_that_works_when_its_time_is_over() {
    for (rule, by_form) in [("", false), ("[http]\nenqueue_on = \"post\"\n", true)] {
        let extra = format!("{RULES}max_attempts = 1\nfailure_ttl = \"8s\"\n");
        let site = Site::new().exporter_with("exit 1", &extra).more(rule).create();
        post(&site, "/epub", "", TITLE.as_bytes()).is(303);
        site.tick();
        let page = get(&site, &format!("{TITLE}&format=page.1"), &[]);
        page.is(500).says("You can try again in ");
        if by_form {
            asks_again_by_form(&page);
        } else {
            asks_again_by_link(&page, "Try again");
        }
        site.clock(20.0);
        if by_form {
            post(&site, "/epub", "", form(&page).unwrap().as_bytes()).is(303);
        } else {
            get(&site, link(&page).unwrap().0.split_once('?').unwrap().1, &[]).is(202);
        }
        assert_eq!(site.count("SELECT count(*) FROM job WHERE status = 0"), 1);
    }
}

#[test]
fn where_asking_again_cannot_help_the_page_leads_back() {
    let bad = r#"echo "there is no such book" >"$PRESSROOM_MESSAGE"; exit 65"#;
    let site = Site::new().exporter_with(bad, RULES).create();
    get(&site, TITLE, &[]).is(202);
    site.tick();
    leads_back(get(&site, TITLE, &FROM).is(500), "Go back");
    leads_back(get(&site, "titel=Emma", &FROM).is(400), "Go back");
    leads_back(ask(&site, "GET", "/pdf", "", &FROM).is(404), "Go back");
    leads_back(ask(&site, "PUT", "/epub", "", &FROM).is(405), "Go back");
    let mut large = cgi(&site, "POST", "/epub", "");
    leads_back(reply_to_form(large.envs(FROM), &vec![b'a'; 70_000]).is(413), "Go back");
    let mut empty = cgi(&site, "POST", "/epub", "");
    leads_back(reply_to_form(empty.envs(FROM), b"titel=x").is(400), "Go back");
    get(&site, "titel=Emma", &[("HTTP_ACCEPT_LANGUAGE", "de")]).says(">Zurück</a>");
}

#[test]
fn the_way_back_stays_on_the_site() {
    let site = site().create();
    let back = |referer: &str| {
        let headers =
            [("HTTP_HOST", "books.example"), ("HTTP_REFERER", referer), ("REQUEST_URI", "/export/epub?titel=x")];
        link(&get(&site, "titel=x", &headers)).unwrap().0
    };
    for elsewhere in [
        "",
        "https://evil.example/list",
        "https://books.example.evil.example/",
        "https://books.example@evil.example/",
        "javascript:alert(1)",
        "//evil.example/",
        "https://books.example",
        "https://books.example/export/epub?titel=y",
    ] {
        assert_eq!(back(elsewhere), "/", "{elsewhere}");
    }
    assert_eq!(back("https://books.example//evil.example/x"), "/evil.example/x");
    assert_eq!(back("https://books.example/\\evil.example/x"), "/evil.example/x");
    assert_eq!(back("https://books.example/a\"><script>?q=<b>"), "/a%22%3E%3Cscript%3E?q=%3Cb%3E");
}

#[test]
fn every_other_page_leads_on() {
    let site = site().more("[http]\nenqueue_on = \"post\"\n").create();
    asks_again_by_form(get(&site, TITLE, &[]).is(404));
    let mut foreign = cgi(&site, "POST", "/epub", "");
    let foreign = reply_to_form(foreign.env("HTTP_SEC_FETCH_SITE", "cross-site"), TITLE.as_bytes());
    asks_again_by_link(foreign.is(403), "Create the file");
    post(&site, "/epub", "", TITLE.as_bytes()).is(303);
    for format in ["page", "page.1", "page.500"] {
        let page = get(&site, &format!("{TITLE}&format={format}"), &[]);
        let on = (format!("/export/epub?{TITLE}&format=page"), "Check now".to_owned());
        assert_eq!(link(page.is(202)), Some(on));
    }
    site.tick();
    let ready = get(&site, &format!("{TITLE}&format=page"), &[]);
    assert_eq!(link(ready.is(200)).unwrap().0, format!("/export/epub?{TITLE}&format=file"));
    std::fs::write(site.config(), "[x]\n").unwrap();
    let fault = get(&site, TITLE, &[]);
    asks_again_by_link(fault.is(500), "Try again");
    let mut bare = program(&site, "request", "POST", "");
    leads_back(reply(bare.envs(FROM)).is(500), "Go back");
}

#[test]
fn a_task_that_is_queued_leads_back() {
    let task = "[exporter.reindex]\nweb = true\noutput = \"none\"\ncommand = [\"true\"]\n";
    let site = site().more(task).create();
    leads_back(ask(&site, "GET", "/reindex", "", &FROM).is(202), "Go back");
}
