//! What a page says about a request that does not fit, in the reader's language.

use std::process::Command;

use crate::support::{
    site::Site,
    web::{Reply, cgi, program, reply, reply_to_body},
};

const PARAMS: &str = r#"
[exporter.pick]
web = true
command = ["/bin/echo", "{title}"]
filename = "{title}-{word}-{lang}-{any}-{from}-{to}-{between}.txt"
[exporter.pick.params.title]
required = true
max_bytes = 9
[exporter.pick.params.word]
required = false
pattern = "[a-z]+"
[exporter.pick.params.lang]
required = false
one_of = ["Ktö", "{param}"]
[exporter.pick.params.any]
required = false
integer = "-9223372036854775808..9223372036854775807"
[exporter.pick.params.from]
required = false
integer = "-3.."
[exporter.pick.params.to]
required = false
integer = "..7"
[exporter.pick.params.between]
required = false
integer = "-3..7"
"#;

/// A query, and what every language keeps of it: a name, a value or a bound.
const QUERIES: &[(&str, &str)] = &[
    ("", "title"),
    ("title=a&title=b", "title"),
    ("title=%FF", "title"),
    ("title=0123456789", "9"),
    ("title=a%07", "title"),
    ("title=-x", "title"),
    ("title=a&word=A", "word"),
    ("title=a&lang=fr", "\"Ktö\", \"{param}\""),
    ("title=a&any=x", "any"),
    ("title=a&from=-4", "-3"),
    ("title=a&to=8", "7"),
    ("title=a&between=x", "-3"),
    ("title=a&zzzzzz=x", "zzzzzz"),
    ("title=a&wort=x", "word"),
    ("title=a&%E2%80%AEx%7Bnear%7D=1", "\\u{202e}x{near}"),
    ("title=a&format=page&format=page", "format"),
    ("title=a&after=%FF", "after"),
    ("title=a&after=soon", "soon"),
    ("title=a&after=2099-01-01T00:00:00Z", "after"),
    ("title=a&format=xml", "json"),
    ("title=a&wait=soon", "10s"),
    ("title=a&refresh=perhaps", "refresh"),
];

fn message(page: &Reply) -> String {
    let text = page.text();
    let (_, rest) = text.split_once("<p id=\"message\" dir=\"auto\">").unwrap_or_else(|| panic!("{text}"));
    rest.split_once("</p>").unwrap().0.replace("&quot;", "\"").replace("&#x27;", "'").replace("&#x2f;", "/")
}

/// The message of the page in each language, English first.
#[track_caller]
fn messages(ask: impl Fn(&str) -> Reply) -> Vec<String> {
    let said = ["en", "de", "fr", "ar"].map(|language| {
        let page = ask(language);
        assert!((400..500).contains(&page.status), "{page:?}");
        page.has("content-language", language);
        assert!(!page.text().contains("lang=\"en\"") || language == "en", "{}", page.text());
        message(&page)
    });
    let english = &said[0];
    for (at, other) in said.iter().enumerate().skip(1) {
        assert!(!other.is_empty() && !said[..at].contains(other), "{english:?}: {other:?}");
        for word in ["the ", "there ", " must ", " is ", "only "] {
            assert!(!other.to_lowercase().contains(word), "{english:?}: {other:?}");
        }
    }
    assert!(said[3].chars().filter(|c| ('\u{600}'..'\u{700}').contains(c)).count() > 5, "{:?}", said[3]);
    said.to_vec()
}

fn get(site: &Site, query: &str, language: &str) -> Reply {
    reply(cgi(site, "GET", "/pick", query).env("HTTP_ACCEPT_LANGUAGE", language))
}

#[test]
fn every_kind_of_value_that_does_not_fit_is_told_in_every_language() {
    let site = Site::new().more(PARAMS).create();
    for (query, kept) in QUERIES {
        let said = messages(|language| get(&site, query, language));
        for text in &said {
            assert!(text.contains(kept), "{query}: no {kept:?} in {text:?}");
        }
        // Latin letters within Arabic have a direction of their own.
        let isolated: usize = said[3].matches('\u{2068}').count();
        assert!(isolated == said[3].matches('\u{2069}').count() && isolated > 0, "{query}: {:?}", said[3]);
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn every_form_that_does_not_fit_is_told_in_every_language() {
    const FORM: &str = "application/x-www-form-urlencoded";
    let site = Site::new().more(PARAMS).create();
    for (length, kind, body) in [
        ("70000", FORM, "title=a"),
        ("99", FORM, "title=a"),
        ("ten", FORM, "title=a"),
        ("7", "multipart/form-data; boundary=x", "title=a"),
        ("", FORM, "title=a"),
    ] {
        messages(|language| {
            let mut command: Command = cgi(&site, "POST", "/pick", "");
            command.env("HTTP_ACCEPT_LANGUAGE", language).env("CONTENT_LENGTH", length).env("CONTENT_TYPE", kind);
            reply_to_body(command.env("HTTP_TRANSFER_ENCODING", "chunked"), body.as_bytes())
        });
    }
    messages(|language| {
        let mut command = cgi(&site, "POST", "/pick", "");
        command.env("HTTP_ACCEPT_LANGUAGE", language).env("HTTP_SEC_FETCH_SITE", "cross-site");
        crate::support::web::reply_to_form(&mut command, b"title=a")
    });
    messages(|language| reply(program(&site, "request", "PUT", "").env("HTTP_ACCEPT_LANGUAGE", language)));
}

/// Programs and the command line read English, whoever their user is.
#[test]
fn json_and_the_command_line_stay_english() {
    let site = Site::new().more(PARAMS).create();
    let json = get(&site, "title=a&word=A&format=json", "de").is(400).json();
    assert_eq!(json["reason"], "parameter word is not valid here");
    let json = get(&site, "title=a&wort=x&format=json", "ar").is(400).json();
    assert_eq!(json["reason"], "pick has no parameter \"wort\"; did you mean \"word\"?");
    site.run(&["request", "pick"]).exits(65).stdout("invalid parameter title is missing\n");
}
