//! The pages, and hostile text in them.

use serde_json::Value;

use super::JSON;
use crate::support::{
    site::Site,
    web::{RULES, cgi, get, site},
};

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
        .says("Position in the queue");
    std::fs::write(site.path("pages/page.html"), "<h1>{{ title }}</h1>{{ name }}").unwrap();
    let own = get(&site, "title=%3Cb%3E", &[("HTTP_ACCEPT_LANGUAGE", "it")]);
    own.is(202).says("<h1>Il file è in coda</h1>&lt;b&gt;.epub");
    std::fs::write(site.path("pages/page.html"), "{% if %}").unwrap();
    let broken = get(&site, "title=Emma", &[]);
    broken.is(202).says("Position in the queue");
    assert!(broken.log.contains("page.html") && broken.log.lines().count() == 1, "{}", broken.log);
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
