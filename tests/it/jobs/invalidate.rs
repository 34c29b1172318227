use crate::support::{admin::site_with, site::Site};

fn made(extra: &str, titles: &[&str]) -> Site {
    let site = site_with(extra, "");
    site.ask_for(titles);
    site.tick();
    site
}

#[test]
fn an_invalidated_file_counts_no_longer_and_goes_after_grace() {
    let site = made("ttl = \"1h\"\nstale = \"1h\"", &["Emma", "Nana"]);
    site.ask("Emma").exits(0);
    site.run(&["jobs", "invalidate", "epub/Emma.epub"]).exits(0).stdout("invalidated epub/Emma.epub\n").stderr("");
    site.run(&["request", "epub", "title=Emma", "--no-enqueue"]).exits(66);
    site.tick();
    assert!(site.cached("epub/Emma.epub").exists(), "whoever was told ready may still fetch it");
    site.clock(119.0);
    site.tick();
    assert!(site.cached("epub/Emma.epub").exists());
    site.clock(121.0);
    site.tick(); // the first round after a jump of the clock expires nothing
    site.tick();
    assert!(!site.cached("epub/Emma.epub").exists());
    assert!(site.cached("epub/Nana.epub").exists());
}

#[test]
fn a_name_that_is_none_is_not_found() {
    let site = made("", &["Emma"]);
    for name in ["epub/../epub/Emma.epub", "epub//Emma.epub", "../s/cache/epub/Emma.epub", "epub/.Emma.epub"] {
        site.run(&["jobs", "invalidate", name]).exits(66).stdout("").warns("there is no file ");
    }
}

#[test]
fn the_next_request_after_it_makes_the_file_anew() {
    let site = made("", &["Emma"]);
    site.run(&["jobs", "invalidate", "epub/E"]).exits(0);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick();
    site.ask("Emma").exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt WHERE result = 'ok'"), 2);
}

#[test]
fn a_file_that_never_expires_is_removed_unless_a_job_needs_it() {
    let site = made("ttl = \"none\"", &["Emma", "Nana"]);
    site.database()
        .execute(
            "INSERT INTO job (filename, exporter, params, queue, rank, submitted, run_after, queued_since, last_asked)
             VALUES ('epub/Nana.epub', 'epub', '{\"title\":\"Nana\"}', 'default', 0, 0, 0, 0, 0)",
            [],
        )
        .unwrap();
    let done = site.run(&["jobs", "invalidate", "--exporter", "epub", "--yes"]);
    done.exits(0).says("removed epub/Emma.epub\n").says("left epub/Nana.epub alone: a job");
    assert_eq!(site.names("s/cache/epub"), ["Nana.epub"]);
}

#[test]
fn files_are_chosen_by_parameter_and_date_and_it_asks() {
    let site = made("", &["Emma", "Nana", "Zadig"]);
    site.run(&["jobs", "invalidate"]).exits(64).warns("name a file");
    site.run(&["jobs", "invalidate", "epub/X"]).exits(66).warns("there is no file \"epub/X\" in the cache");
    site.run(&["jobs", "invalidate", "epub/"]).exits(64).warns("is ambiguous");
    site.run(&["jobs", "invalidate", "--exporter", "epub"])
        .exits(64)
        .warns("this would invalidate 3 files; give --yes");
    site.run(&["jobs", "invalidate", "--until", "1h", "--yes"]).exits(66).warns("no file matches");
    site.run(&["jobs", "invalidate", "--param", "title=Nana", "--yes"]).exits(0).stdout("invalidated epub/Nana.epub\n");
    site.database().execute("DELETE FROM attempt WHERE filename = 'epub/Emma.epub'", []).unwrap();
    let unknown = site.run(&["jobs", "invalidate", "--param", "title=Emma", "--yes"]);
    unknown.exits(66).warns("the history of 1 file is forgotten");
    site.run(&["jobs", "invalidate", "--since", "1h", "--yes"]).exits(0).says("epub/Emma.epub").says("epub/Zadig.epub");
}
