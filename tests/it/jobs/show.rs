use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::support::{
    admin::{site, site_with},
    site::Site,
};

fn failed() -> Site {
    let site = site_with("max_attempts = 1\n[exporter.epub.limits]\nmemory = \"300MB\"\ncpu = \"90s\"", "");
    site.ask("Bad");
    site.tick();
    site
}

#[test]
fn a_job_is_shown_with_its_attempts_their_limits_and_the_end_of_the_log() {
    let site = failed();
    let shown = site.run(&["jobs", "show", "1"]);
    shown.exits(0).stderr("").says("failed_unknown").says("exit status 3").says("epub/Bad.epub");
    shown.says("of 300 MB").says("of 1m 30s").says("  | no such book");
}

#[test]
fn in_json_a_job_has_the_names_that_other_software_uses() {
    let site = failed();
    let job = site.run(&["jobs", "show", "epub/Bad.epub", "--format", "json"]).json();
    for object in [&job, &job["history"][0]] {
        assert_eq!(object["memory_limit"], 300_000_000);
        assert_eq!(object["cpu_time_limit"], 90.0);
        assert_eq!(object["result"], "exit");
        assert!(object["duration"].as_f64().unwrap() < 60.0);
        let start = object["start_date"].as_str().unwrap();
        assert!(start.contains('T') && start.ends_with('Z'), "{start}");
    }
    assert_eq!(job["status"], "failed_unknown");
    assert_eq!(job["params"]["title"], "Bad");
    assert_eq!(job["history"][0]["exit_code"], 3);
    assert!(job["history"][0]["log_tail"].as_str().unwrap().contains("no such book"));
}

#[test]
fn a_job_is_named_by_its_id_its_filename_a_unique_beginning_or_an_attempt() {
    let site = failed();
    let attempt = site.text("SELECT id FROM attempt");
    for word in ["1", "epub/Bad.epub", "epub/B", attempt.as_str()] {
        assert_eq!(site.run(&["jobs", "show", word, "--format", "json"]).exits(0).json()["id"], 1, "{word}");
    }
    site.ask("Basil");
    site.run(&["jobs", "show", "epub/Ba"]).exits(64).warns("epub/Bad.epub, epub/Basil.epub");
    site.run(&["jobs", "show", "epub/Basi"]).exits(0).says("queued, place 1");
    site.run(&["jobs", "show", "7"]).exits(66).warns("there is no job \"7\"");
    site.run(&["jobs", "show", ""]).exits(64);
    site.run(&["jobs", "retry", "epub/Zadig.epub"]).exits(66);
}

#[test]
fn an_exact_name_wins_over_longer_ones_that_begin_so() {
    let site = site_with(
        "",
        "[exporter.note]\noutput = \"none\"\ncommand = [\"/bin/true\"]\nfilename = \"{of}\"\n[exporter.note.params.of]\n",
    );
    for of in ["a", "ab"] {
        site.run(&["request", "note", &format!("of={of}")]);
    }
    assert_eq!(site.run(&["jobs", "show", "note/a", "--format", "json"]).exits(0).json()["params"]["of"], "a");
}

#[test]
fn a_made_file_without_a_job_is_shown_from_its_history() {
    let site = site();
    site.ask("Emma");
    site.tick();
    let shown = site.run(&["jobs", "show", "epub/Emma.epub", "--format", "json"]).exits(0).json();
    assert_eq!((shown["result"].as_str(), shown["file"]["state"].as_str()), (Some("ok"), Some("fresh")));
    site.run(&["jobs", "show", "epub/E"]).exits(0).says("fresh, 5 B");
    site.run(&["jobs", "log", "epub/E"]).exits(0).stdout("making Emma\n");
}

/// A visitor or a mail named it yesterday; its row went with its success, and somebody has asked for the file again.
#[test]
fn a_job_that_has_ended_is_still_known_by_its_id() {
    let site = site();
    site.ask("Emma");
    site.tick();
    std::fs::remove_file(site.cached("epub/Emma.epub")).unwrap();
    site.ask("Emma").exits(75);
    let attempt = site.text("SELECT id FROM attempt");
    site.run(&["jobs", "show", "1"]).exits(0).says("job 1 (epub/Emma.epub) has ended at ").says("the result ok");
    let shown = site.run(&["jobs", "show", "1", "--format", "json"]).exits(0).json();
    assert_eq!((&shown["id"], &shown["status"], shown["result"].as_str()), (&1.into(), &().into(), Some("ok")));
    site.run(&["jobs", "log", "1"]).exits(0).stdout("making Emma\n");
    site.run(&["jobs", "log", "--follow", "1"]).exits(0).stdout("making Emma\n");
    site.tick();
    assert_eq!(site.run(&["jobs", "history", "1", "--format", "json"]).exits(0).each("attempt"), [attempt]);
    assert_eq!(site.run(&["jobs", "history", "2", "--format", "json"]).exits(0).each("job"), ["2"]);
    for verb in ["retry", "cancel"] {
        site.run(&["jobs", verb, "1"])
            .exits(65)
            .stdout("")
            .warns("has ended at ")
            .warns("the result ok, there is nothing");
    }
    site.run(&["jobs", "cancel", "1", "--yes"]).exits(65);
    site.run(&["jobs", "show", "3"]).exits(66);
}

#[test]
fn a_log_that_is_no_longer_kept_is_told_by_its_end() {
    let site = failed();
    std::fs::remove_file(site.path(&format!("s/log/{}.log", site.text("SELECT id FROM attempt")))).unwrap();
    site.run(&["jobs", "log", "1"]).exits(0).says("no such book").warns("not kept any more");
    site.ask("Emma");
    site.run(&["jobs", "log", "2"]).exits(66).warns("has not been started yet");
}

#[test]
fn a_followed_log_shows_each_line_as_it_comes_and_ends_with_the_attempt() {
    let site = site();
    site.ask("Slow");
    let mut follower = site.command(&["jobs", "log", "--follow", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines().map(Result::unwrap);
    site.brief_tick();
    assert_eq!(lines.next().as_deref(), Some("making Slow"));
    site.go();
    assert_eq!(lines.next().as_deref(), Some("went on"));
    assert_eq!(lines.next(), None);
    assert!(follower.wait().unwrap().success());
}

#[test]
fn hostile_text_cannot_act_on_a_terminal() {
    let script = "printf '\\033]0;owned\\007\\033[2Jred\\r\\233m<script>\\n'; head -c 1000000 /dev/zero | tr '\\0' x; echo; exit 3";
    let site = Site::new().exporter_with(script, "max_attempts = 1").create();
    site.ask("Emma\u{202e}\u{2066}");
    site.tick();
    let evil = "\u{1b}[31m\u{9b}2J\u{202e}<script>";
    site.database().execute("UPDATE job SET message = ?1, client = ?1", [evil]).unwrap();
    site.database().execute("UPDATE attempt SET message = ?1, detail = ?1, log_tail = ?1", [evil]).unwrap();
    for words in [
        &["jobs", "list"][..],
        &["jobs", "list", "--format", "json"],
        &["jobs", "show", "1"],
        &["jobs", "show", "1", "--format", "json"],
        &["jobs", "log", "1"],
        &["jobs", "history"],
        &["jobs", "history", "--format", "json"],
        &["jobs", "show", "\u{1b}[31m"],
        &["jobs", "retry", "1"],
        &["status"],
        &["status", "--format", "json"],
        &["status", "--format", "prometheus"],
        &["jobs", "cancel", "1"],
    ] {
        site.run(words).is_safe();
    }
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}
