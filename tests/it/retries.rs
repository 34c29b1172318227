//! After a failure: whether, when and under which limits a job runs again.

use crate::support::{running::results, site::Site};

fn site(script: &str, settings: &str) -> Site {
    Site::new().exporter_with(script, settings).create()
}

/// The seconds from the end of the last attempt to the next one.
fn delay(site: &Site) -> f64 {
    let ms = site.count("SELECT run_after - (SELECT max(ended) FROM attempt) FROM job");
    f64::from(i32::try_from(ms).expect("a short delay")) / 1000.0
}

/// A limit of every attempt, in their order.
fn limits(site: &Site, name: &str) -> String {
    site.text(&format!(
        "SELECT group_concat(json_extract(limits, '$.{name}'), ' ') FROM (SELECT limits FROM attempt ORDER BY rowid)"
    ))
}

/// Ticks at that time, and checks how many attempts there have been by then.
#[track_caller]
fn tick_at(site: &Site, seconds: f64, attempts: i64) {
    site.clock(seconds);
    site.tick().exits(0);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), attempts, "{}", results(site));
}

#[test]
fn the_delay_doubles_and_the_limit_that_ended_it_grows_up_to_its_most() {
    let settings = "timeout = \"100ms\"\nmax_attempts = 3\nlimits_max = { timeout = \"300ms\" }";
    let site = site("exec sleep 1000", settings);
    site.ask("Emma").exits(75);
    tick_at(&site, 0.0, 1);
    assert!((30.0..=37.6).contains(&delay(&site)), "{}", delay(&site));
    site.ask("Emma").exits(75).stdout("queued 1\n");
    tick_at(&site, 5.0, 1);
    tick_at(&site, 40.0, 2);
    assert!((60.0..=75.1).contains(&delay(&site)), "{}", delay(&site));
    tick_at(&site, 80.0, 2);
    tick_at(&site, 130.0, 3);
    assert_eq!(results(&site), "timeout timeout timeout");
    assert_eq!(limits(&site, "timeout"), "0.1 0.2 0.3");
    assert_eq!(limits(&site, "memory_limit"), "2000000000 2000000000 2000000000");
    site.ask("Emma").exits(70).stdout("failed_timeout it took too long\n");
    tick_at(&site, 300.0, 3);
}

#[test]
fn a_book_that_needs_more_memory_gets_it_at_its_second_attempt() {
    let script = "exec /usr/bin/python3 -c 'x = b\"x\" * (70 << 20)\nimport time\ntime.sleep(1)\nopen(\"out.epub\", \"w\").write(\"x\")'";
    let site = site(script, "retry_delay = \"1ms\"\nlimits.memory = \"50MB\"\ntimeout = \"1m\"");
    site.ask("Emma").exits(75);
    tick_at(&site, 0.0, 1);
    tick_at(&site, 1.0, 2);
    assert_eq!((results(&site), limits(&site, "memory_limit")), ("memory ok".into(), "50000000 100000000".into()));
    assert_eq!(limits(&site, "timeout"), "60.0 60.0");
    site.ask("Emma").exits(0);
}

#[test]
fn cpu_and_file_size_grow_as_well() {
    let site = site("while :; do :; done", "retry_delay = \"1ms\"\nlimits.cpu = \"300ms\"\nescalate = 1.5");
    site.ask("Emma").exits(75);
    tick_at(&site, 0.0, 1);
    tick_at(&site, 1.0, 2);
    assert_eq!((results(&site), limits(&site, "cpu_time_limit")), ("cpu cpu".into(), "0.3 0.45".into()));

    let settings = "retry_delay = \"1ms\"\nlimits.file_size = \"10kB\"\nretry_on = [\"file_size\"]";
    let site = Site::new().exporter_with("head -c 15000 /dev/zero >\"$1\"", settings).create();
    site.ask("Emma").exits(75);
    tick_at(&site, 0.0, 1);
    tick_at(&site, 1.0, 2);
    assert_eq!((results(&site), limits(&site, "file_size")), ("file_size ok".into(), "10000 20000".into()));
}

#[test]
fn only_what_retry_on_names_is_tried_again() {
    for (script, settings, expected) in [
        ("exit 1", "", "exit"),
        ("exit 0", "", "no_output"),
        ("exit 75", "", "exit exit"),
        ("exit 75", "retry_on = []", "exit"),
        ("exit 1", "retry_on = [\"exit\"]", "exit exit"),
        ("exit 65", "retry_on = [\"exit\", \"temporary\"]", "exit"),
        ("kill -SEGV $$", "", "signal signal"),
        ("kill -SEGV $$", "max_attempts = 1", "signal"),
    ] {
        let site = site(script, &format!("retry_delay = \"1ms\"\n{settings}"));
        site.ask("Emma").exits(75);
        for second in 0..3 {
            site.clock(f64::from(second));
            site.tick().exits(0);
        }
        assert_eq!(results(&site), expected, "{script} {settings}");
        site.ask("Emma").exits(70);
    }
}

#[test]
fn a_job_that_was_too_big_for_its_lane_goes_on_in_the_exporters_own_queue() {
    let lane = "[exporter.epub.params.pages]\nrequired = false\ninteger = \"1..1000\"\n[[exporter.epub.lane]]\nqueue = \"express\"\nwhen = { pages = \"..20\" }\n[queue.express]\n";
    let settings = "timeout = \"100ms\"\nretry_delay = \"1ms\"";
    let site = Site::new().exporter_with("exec sleep 1000", settings).more(lane).create();
    site.run(&["request", "epub", "title=Emma", "pages=5"]).exits(75);
    tick_at(&site, 0.0, 1);
    tick_at(&site, 1.0, 2);
    assert_eq!(site.text("SELECT group_concat(queue, ' ') FROM attempt"), "express default");
}
