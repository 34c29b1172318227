//! `--after` for a file that is made from another one: it began when its source did.

use crate::support::{formats::PDF, site::Site};

#[track_caller]
fn until_done(site: &Site) {
    crate::support::site::wait_until("nothing is queued", || {
        site.tick().exits(0).stderr("");
        site.count("SELECT count(*) FROM job") == 0
    });
}

#[test]
fn the_source_is_made_first_and_the_derived_file_from_it() {
    let site = Site::new().more(PDF).create();
    site.run(&["request", "pdf", "title=Emma"]).exits(75).stdout("queued 2\n");
    assert_eq!(site.count("SELECT count(*) FROM job"), 2);
    until_done(&site);
    site.run(&["request", "pdf", "title=Emma"]).exits(0);
    assert_eq!(std::fs::read_to_string(site.cached("pdf/Emma.pdf")).unwrap(), "Emma\n");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 2);
}

#[test]
fn a_derived_file_began_when_its_source_did() {
    let site = Site::new().more(PDF).create();
    site.ask("Emma").exits(75);
    until_done(&site);
    let edited = jiff::Timestamp::now().to_string();
    site.run(&["request", "pdf", "title=Emma"]).exits(75);
    until_done(&site);
    site.run(&["request", "pdf", "title=Emma"]).exits(0);
    // The PDF was begun after the edit, but from an EPUB that was begun before it.
    site.run(&["request", "pdf", "title=Emma", "--after", &edited]).exits(75);
    until_done(&site);
    site.run(&["request", "pdf", "title=Emma", "--after", &edited]).exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE exporter = 'epub'"), 2);
}

#[test]
fn a_source_that_fails_fails_what_waits_for_it() {
    let site = Site::new().exporter(r#"echo "no such book" >"$PRESSROOM_MESSAGE"; exit 65"#).more(PDF).create();
    site.run(&["request", "pdf", "title=Emma"]).exits(75);
    site.tick().exits(0);
    site.run(&["request", "pdf", "title=Emma"]).exits(70).stdout("failed_unknown no such book\n");
}
