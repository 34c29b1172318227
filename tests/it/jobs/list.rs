use crate::support::{
    admin::{site, site_with},
    site::{Done, Site, wait_until},
};

/// The names of the files that a list shows.
#[track_caller]
fn listed(site: &Site, words: &[&str]) -> Vec<String> {
    let done = site.run(&[&["jobs", "list", "--format", "json", "--sort", "id"], words].concat());
    let names = done.exits(0).each("filename");
    names.iter().map(|name| name.replace("epub/", "").replace(".epub", "")).collect()
}

const TASK: &str = "[exporter.note]\noutput = \"none\"\ncommand = [\"/bin/true\"]\n";

#[test]
fn a_list_is_filtered_by_status_exporter_queue_client_parameter_and_date() {
    let site = site_with("max_attempts = 1", TASK);
    site.ask_for(&["Bad", "BadToo"]);
    site.tick();
    site.run(&["request", "epub", "title=Emma", "--client", "ann"]);
    site.run(&["request", "note"]);
    assert_eq!(listed(&site, &[]), ["Bad", "BadToo", "Emma", "note/note"]);
    assert_eq!(listed(&site, &["--status", "failed"]), ["Bad", "BadToo"]);
    assert_eq!(listed(&site, &["--status", "queued,failed_unknown"]), ["Bad", "BadToo", "Emma", "note/note"]);
    assert_eq!(listed(&site, &["--status", "failed_timeout"]), [""; 0]);
    assert_eq!(listed(&site, &["--exporter", "note"]), ["note/note"]);
    assert_eq!(listed(&site, &["--queue", "default", "--status", "queued"]), ["Emma"]);
    assert_eq!(listed(&site, &["--client", "ann"]), ["Emma"]);
    assert_eq!(listed(&site, &["--param", "title=BadToo"]), ["BadToo"]);
    assert_eq!(listed(&site, &["--since", "1h", "--until", "2100-01-01"]).len(), 4);
    assert_eq!(listed(&site, &["--until", "1h"]), [""; 0]);
}

#[test]
fn a_client_is_found_by_its_name_when_only_its_hash_is_stored() {
    let site = site_with("web = true", "");
    for (title, address) in [("Emma", "192.0.2.7"), ("Nana", "192.0.2.8")] {
        let mut request = site.command(&["request", "--cgi"]);
        request.env("REQUEST_METHOD", "GET").env("GATEWAY_INTERFACE", "CGI/1.1").env("REMOTE_ADDR", address);
        request.env("PATH_INFO", "/epub").env("QUERY_STRING", format!("title={title}"));
        Done::of(&mut request).exits(0).says("queued");
    }
    let hash = site.text("SELECT client FROM job WHERE filename = 'epub/Nana.epub'");
    assert!(!hash.contains("192.0.2"), "{hash}");
    assert_eq!(listed(&site, &["--client", "192.0.2.8"]), ["Nana"]);
    assert_eq!(listed(&site, &["--client", &hash]), ["Nana"]);
    assert_eq!(listed(&site, &["--client", "192.0.2.9"]), [""; 0]);
}

#[test]
fn a_list_is_sorted_and_cut_and_says_that_there_are_more() {
    let site = site();
    site.ask_for(&["Emma", "Candide", "Nana"]);
    let sorted = |key: &str| site.run(&["jobs", "list", "--format", "json", "--sort", key]).exits(0).each("id");
    assert_eq!(sorted("-id"), ["3", "2", "1"]);
    assert_eq!(sorted("filename"), ["2", "1", "3"]);
    assert_eq!(sorted("-filename"), ["3", "1", "2"]);
    assert_eq!(sorted("turn"), ["1", "2", "3"]);
    site.run(&["jobs", "list", "--sort", "colour"]).exits(64).warns("there is no sort key \"colour\"");
    let two = site.run(&["jobs", "list", "--limit", "2"]);
    two.exits(0).says("epub/Nana.epub").warns("there are more; give --limit 0 for all");
    assert_eq!(two.out().lines().count(), 3, "a head and two jobs");
    site.run(&["jobs", "list", "--limit", "0"]).exits(0).stderr("").says("epub/Emma.epub");
}

#[test]
fn wrong_filters_are_told() {
    let site = site();
    site.run(&["jobs", "list", "--param", "title"]).exits(64).warns("write NAME=VALUE");
    site.run(&["jobs", "list", "--since", "gestern"]).exits(64).warns("\"gestern\" is not a time");
    site.run(&["jobs", "list", "--status", "done"]).exits(64);
    site.run(&["jobs", "history", "--status", "queued"]).exits(64).stdout("").warns("neither queued nor started");
    site.run(&["jobs", "history", "--result", "done"]).exits(64).warns("results are ok, timeout");
}

#[test]
fn history_keeps_what_jobs_forget_and_is_filtered() {
    let site = site_with("max_attempts = 1", "");
    site.ask_for(&["Emma", "Bad", "Nana"]);
    site.tick();
    let names = |words: &[&str]| {
        let mut names = site.run(&[&["jobs", "history", "--format", "json"], words].concat()).exits(0).each("filename");
        names.sort();
        names
    };
    assert_eq!(names(&[]), ["epub/Bad.epub", "epub/Emma.epub", "epub/Nana.epub"]);
    assert_eq!(names(&["--result", "ok"]), ["epub/Emma.epub", "epub/Nana.epub"]);
    assert_eq!(names(&["--status", "failed"]), ["epub/Bad.epub"]);
    assert_eq!(names(&["--exporter", "epub", "--result", "exit,ok"]).len(), 3);
    assert_eq!(names(&["--param", "title=Nana"]), ["epub/Nana.epub"]);
    assert_eq!(names(&["--exporter", "epub", "--param", "title=Bad"]), ["epub/Bad.epub"]);
    assert_eq!(names(&["epub/Emma.epub"]), ["epub/Emma.epub"]);
    assert_eq!(names(&["epub/Emma.epub", "--result", "exit"]), [""; 0]);
    assert_eq!(names(&["--until", "1h"]), [""; 0]);
    assert_eq!(names(&["--exporter", "epub", "--sort", "-duration", "--limit", "2"]).len(), 2);
    site.run(&["jobs", "history"]).exits(0).says("epub/Bad.epub").says("RESULT");
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let site = site();
    let titles: Vec<_> = (0..40).map(|number| format!("{number:0>150}")).collect();
    site.ask_for(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = site.command(&["jobs", "list", "--format", "json", "--limit", "0"]);
    let mut child = child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut code = None;
    wait_until("it has ended", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    assert_eq!(code, Some(Some(0)));
}
