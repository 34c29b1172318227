//! What is recorded of an attempt, and for how long.

use crate::support::{
    rogue::{ends, python},
    site::Site,
};

#[test]
fn an_attempt_records_limits_peaks_times_and_sizes() {
    let script = "import sys\nx = b\"x\" * (60 << 20)\nn = 0\nwhile n < 3000000: n += 1\nopen(\"out.epub\", \"w\").write(\"12345\")\nprint(\"done\")";
    let settings = "timeout = \"40s\"\nlimits.memory = \"500MB\"\nlimits.cpu = \"30s\"\nlimits.open_files = 64";
    let ended = ends(&python(script), settings, "ok");
    assert!((60 << 20..500_000_000).contains(&ended.number("peak_memory")), "{}", ended.number("peak_memory"));
    assert!((20..30_000).contains(&ended.number("cpu_used")), "{}", ended.number("cpu_used"));
    assert!(ended.number("duration") > 0 && ended.number("ended") >= ended.number("started"));
    assert_eq!((ended.number("output_size"), ended.number("exit_code"), ended.number("number")), (5, 0, 1));
    assert_eq!(ended.text("log_tail"), "done\n");
    let limits: serde_json::Value = serde_json::from_str(&ended.text("limits")).unwrap();
    assert_eq!(limits["memory_limit"], 500_000_000);
    assert_eq!(limits["cpu_time_limit"], 30.0);
    assert_eq!((&limits["timeout"], &limits["open_files"]), (&40.0.into(), &64.into()));
    assert!(limits["address_space"].is_null());
}

/// Two ticks: the first one after a jump of the clock expires nothing.
fn ticks_at(site: &Site, seconds: f64) {
    site.clock(seconds);
    site.tick().exits(0);
    site.tick().exits(0);
}

const DAY: f64 = 86_400.0;

#[test]
fn history_outlives_its_jobs_and_is_trimmed() {
    let settings = "[history]\nkeep = \"10d\"\nkeep_ok_logs = \"2d\"\n";
    let script = "[ $2 = bad ] && exit 1; echo said; echo x >\"$1\"";
    let site = Site::new().exporter_with(script, "failure_keep = \"1d\"").more(settings).create();
    site.ask("good");
    site.ask("bad");
    site.tick().exits(0);
    assert_eq!((site.count("SELECT count(*) FROM job"), site.logs().len()), (1, 2));

    ticks_at(&site, 1.5 * DAY);
    assert_eq!((site.count("SELECT count(*) FROM job"), site.logs().len()), (0, 2));
    ticks_at(&site, 2.5 * DAY);
    let bad = site.text("SELECT id FROM attempt WHERE result = 'exit'");
    assert_eq!(site.logs(), [format!("{bad}.log")]);
    assert_eq!(site.text("SELECT log_tail FROM attempt WHERE result = 'ok'"), "said\n");
    ticks_at(&site, 9.5 * DAY);
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 2);
    ticks_at(&site, 10.5 * DAY);
    assert_eq!((site.count("SELECT count(*) FROM attempt"), site.logs().len()), (0, 0));
}
