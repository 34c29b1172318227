//! Every state of `request`: its text, its JSON, its exit code.

use serde_json::{Value, json};

use crate::support::{
    site::{Site, wait_until},
    together::wait_for_runs,
};

const JSON: [&str; 5] = ["request", "epub", "title=Emma", "--format", "json"];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// An exporter that stays until the test lets it go.
const WAITING: &str = r#"echo "40 Fetching images" >>"$PRESSROOM_PROGRESS"; until [ -e ../../../go ]; do sleep 0.01; done
echo "$2" >"$1""#;

#[test]
fn ready_names_the_absolute_path_and_what_is_known_of_the_file() {
    let site = Site::new().create();
    site.ask("Emma");
    site.tick();
    let path = site.cached("epub/Emma.epub");
    site.ask("Emma").exits(0).stdout(&format!("ready {}\n", path.display())).stderr("");
    let answer = site.run(&JSON).exits(0).json();
    assert_eq!(answer["state"], "ready");
    assert_eq!(answer["filename"], "epub/Emma.epub");
    assert_eq!(answer["path"], path.to_str().unwrap());
    assert_eq!(answer["content_type"], "application/epub+zip");
    assert_eq!((&answer["size"], &answer["stale"]), (&json!(5), &json!(false)));
    let time = |name: &str| answer[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(answer["made_at"].as_str().unwrap().ends_with('Z'), "times are UTC");
    assert_eq!(time("expires_at").duration_since(time("made_at")).as_secs(), 600);
}

#[test]
fn a_path_with_spaces_goes_to_the_end_of_the_line() {
    let site = Site::new().create();
    let words = ["request", "epub", "title=Le  rouge et le noir"];
    site.run(&words).exits(75);
    site.tick().exits(0);
    let path = site.cached("epub/Le%20%20rouge%20et%20le%20noir.epub");
    site.run(&words).exits(0).stdout(&format!("ready {}\n", path.display()));
}

#[test]
fn queued_tells_the_place_in_its_queue() {
    let site = Site::new().create();
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.ask("Nana").exits(75).stdout("queued 2\n");
    site.ask("Emma").exits(75).stdout("queued 1\n");
    let answer = site.run(&JSON).exits(75).json();
    assert_eq!(answer["position"], 1);
    assert_eq!(answer["attempts"], 0);
    assert!(answer["retry_after"].as_u64().unwrap() >= 2);
    assert_eq!(keys(&answer), ["attempts", "filename", "position", "retry_after", "state"]);
}

#[test]
fn the_expected_time_comes_from_earlier_exports() {
    let site = Site::new().create();
    site.ask("Nana");
    site.tick();
    site.database().execute("UPDATE attempt SET duration = 20000", []).unwrap();
    site.ask("Emma").exits(75);
    let answer = site.run(&JSON).exits(75).json();
    let seconds = answer["eta_seconds"].as_u64().unwrap();
    assert!((60..=80).contains(&seconds), "the next tick is up to a minute away: {answer}");
}

#[test]
fn started_tells_the_percentage_that_the_exporter_gives() {
    let site = Site::new().exporter(WAITING).create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    wait_until("the progress is in the row", || site.ask("Emma").exits(75).out() == "started 40\n");
    let answer = site.run(&JSON).exits(75).json();
    assert_eq!((&answer["state"], &answer["percent"]), (&json!("started"), &json!(40)));
    assert_eq!((&answer["message"], &answer["attempts"]), (&json!("Fetching images"), &json!(1)));
    std::fs::write(site.path("go"), "").unwrap();
    wait_for_runs(&site);
    site.ask("Emma").exits(0);
}

#[test]
fn started_without_progress_is_a_question_mark() {
    let site = Site::new().exporter(&WAITING.replace("40 ", "")).create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    site.ask("Emma").exits(75).stdout("started ?\n");
    std::fs::write(site.path("go"), "").unwrap();
    wait_for_runs(&site);
}

#[test]
fn failed_unknown_tells_the_exporters_message() {
    let site = Site::new().exporter(r#"echo "no such book" >"$PRESSROOM_MESSAGE"; echo secret >&2; exit 3"#).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(70).stdout("failed_unknown no such book\n").stderr("");
    let answer = site.run(&JSON).exits(70).json();
    assert_eq!((&answer["state"], &answer["message"]), (&json!("failed_unknown"), &json!("no such book")));
    assert!((1..=301).contains(&answer["retry_after"].as_u64().unwrap()));
    assert!(!answer.to_string().contains("secret"));
    site.mailed().exits(0).warns("job 1 (epub/Emma.epub) failed: exit, exit status 3");
    site.tick().exits(0).stderr(""); // it is reported once
}

#[test]
fn failed_timeout_is_an_exporter_that_took_too_long() {
    let settings = "timeout = \"100ms\"\nkill_after = \"1s\"\nmax_attempts = 1";
    let site = Site::new().exporter_with("sleep 600", settings).create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(70).stdout("failed_timeout it took too long\n");
    assert_eq!(site.run(&JSON).exits(70).json()["state"], "failed_timeout");
    site.mailed().exits(0).warns("failed: timeout");
}

#[test]
fn a_failure_without_a_message_says_no_more_than_that() {
    let site = Site::new().exporter("echo /etc/secret >&2; exit 1").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(70).stdout("failed_unknown the export failed\n");
}

#[test]
fn a_failure_is_the_answer_for_failure_ttl_and_then_the_job_is_queued_again() {
    let site = Site::new().exporter("exit 1").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(290.0);
    site.ask("Emma").exits(70);
    site.clock(301.0);
    site.ask("Emma").exits(75).says("queued 1");
    assert_eq!(site.count("SELECT attempts FROM job"), 0);
    assert_eq!(site.count("SELECT id FROM job"), 1);
}

#[test]
fn absent_is_neither_file_nor_row() {
    let site = Site::new().create();
    site.run(&["request", "epub", "title=Emma", "--no-enqueue"]).exits(66).stdout("absent\n").stderr("");
    let answer = site.run(&["request", "epub", "title=Emma", "--no-enqueue", "--format=json"]).exits(66).json();
    assert_eq!(answer, json!({ "state": "absent", "filename": "epub/Emma.epub" }));
    assert_eq!(site.count("SELECT count(*) FROM job"), 0);
}

#[test]
fn who_waits_is_told_that_nobody_ticks() {
    let site = Site::new().create();
    site.ask("Emma").exits(75).stderr("");
    site.clock(200.0);
    site.ask("Emma").exits(75).stdout("queued 1\n").stderr("pressroom: no tick has run for 3 minutes\n");
    assert_eq!(site.run(&JSON).exits(75).json()["reason"], "no tick has run for 3 minutes");
    site.brief_tick().exits(0);
    site.ask("Nana").stderr("");
}

/// While a new one is made, or cannot be, the old file is served and marked.
#[test]
fn a_stale_file_is_served_as_ready_and_stale_while_a_new_one_is_queued() {
    let site = Site::new().exporter_with(r#"echo "$2" >"$1""#, "stale = \"1d\"").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.clock(700.0);
    site.ask("Emma").exits(0).says("ready ");
    let answer = site.run(&JSON).exits(0).json();
    assert_eq!((&answer["state"], &answer["stale"]), (&json!("ready"), &json!(true)));
    assert_eq!(site.count("SELECT count(*) FROM job"), 1);
    site.tick().exits(0);
    assert_eq!(site.run(&JSON).exits(0).json()["stale"], false);
}
