//! What `request` answers, in every state that the command line knows.

use crate::support::site::Site;

#[test]
fn a_book_is_queued_made_and_served() {
    let site = Site::new().create();
    site.ask("Emma").exits(75).stdout("queued 1\n").stderr("");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0).stdout("").stderr("");
    let path = site.cached("epub/Emma.epub");
    site.ask("Emma").exits(0).stdout(&format!("ready {}\n", path.display()));
    assert_eq!(std::fs::read_to_string(path).unwrap(), "Emma\n");
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
    assert_eq!(site.text("SELECT result FROM attempt"), "ok");
}

#[test]
fn a_hit_opens_no_database() {
    let site = Site::new().create();
    site.ask("Emma");
    site.tick();
    std::fs::rename(site.path("s/queue"), site.path("s/away")).unwrap();
    site.ask("Emma").exits(0).says("ready ");
    site.ask("Nana").exits(78).warns("check --create");
}

/// To compile a pattern is dearer than all the rest of a hit. No file is there whose values did not match it once.
#[test]
fn a_hit_compiles_no_pattern_and_a_miss_does() {
    let with_pattern = |pattern: &str| format!("pattern = \"{pattern}\"\n");
    let site = Site::new().more(&with_pattern("[A-Z][a-z]+")).create();
    site.ask("Emma").exits(75);
    site.ask("emma").exits(65).stdout("invalid parameter title does not match [A-Z][a-z]+\n");
    site.tick();
    let site = site.more(&with_pattern("("));
    site.ask("Emma").exits(0).says("ready ");
    let problem = "parameter title of exporter epub: its pattern \"(\" is not a regular expression";
    site.ask("Nana").exits(78).stdout("").warns(problem);
}

/// The file of another value would be served for it.
#[test]
fn a_value_that_the_filename_does_not_tell_is_checked_on_a_hit_as_well() {
    let site = Site::new()
        .more("[exporter.epub.params.pages]\nrequired = false\nkey = false\npattern = \"[0-9]+\"\n")
        .create();
    site.ask("Emma").exits(75);
    site.tick();
    let ask = |pages: &str| site.run(&["request", "epub", "title=Emma", pages]);
    ask("pages=7").exits(0).says("ready ");
    ask("pages=x").exits(65).stdout("invalid parameter pages does not match [0-9]+\n");
}
