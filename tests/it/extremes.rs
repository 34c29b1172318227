//! Every duration, size, count, time and id that an option, a key, a query, a row or a file can hold, at its extremes:
//! none of them is a fault in the program, and what is refused is refused by its name.

use std::{
    fs::{self, File, FileTimes},
    time::{Duration, SystemTime},
};

use crate::support::{
    site::{Done, Site, kill, wait_until},
    web::get,
};

const DURATIONS: [&str; 9] = [
    "'0s'",
    "'1ns'",
    "'999ms'",
    "'584554531y'",
    "'580000000000y'",
    "'584942417355y 12months 31days'",
    "'99999999999999999999y'",
    "'-1s'",
    "'1e309s'",
];
const SIZES: [&str; 9] = [
    "'0B'",
    "'1B'",
    "'9223372036854775807B'",
    "'18446744073709551615B'",
    "'18446744073709551616B'",
    "'99999999999EiB'",
    "'-1B'",
    "'1e309GB'",
    "'nanB'",
];
const COUNTS: [&str; 9] = [
    "0",
    "1",
    "-1",
    "1000000",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "1e309",
];
const FACTORS: [&str; 9] = ["1", "1000.0", "1e300", "1e309", "-1.0", "0.0", "inf", "nan", "-9223372036854775808"];
const RANGES: [&str; 5] = [
    "'-9223372036854775808..9223372036854775807'",
    "'9223372036854775807..'",
    "'..-9223372036854775808'",
    "'..99999999999999999999'",
    "'1..1e9'",
];

/// Every key that holds a number of some kind, by the place where it stands in the file.
const KEYS: [(&[&str], &[&str]); 21] = [
    (&DURATIONS, &["TOP retry_max_delay"]),
    (&DURATIONS, &["CACHE ttl", "CACHE grace", "CACHE stale"]),
    (&DURATIONS, &["HTTP max_wait", "HTTP refresh", "HISTORY keep", "HISTORY keep_ok_logs"]),
    (&DURATIONS, &["EPUB ttl", "EPUB stale", "EPUB timeout", "EPUB kill_after", "EPUB retry_delay"]),
    (&DURATIONS, &["EPUB retry_max_delay", "EPUB failure_ttl", "EPUB failure_keep", "EPUB queued_ttl"]),
    (&DURATIONS, &["EPUB abandon_after", "EPUB breaker.pause", "LIMITS cpu"]),
    (&DURATIONS, &["EPUB limits_max.timeout", "EPUB limits_max.cpu", "SCHEDULE every"]),
    (&SIZES, &["CACHE max_size", "CACHE min_free", "HOST min_free_memory"]),
    (&SIZES, &["EPUB min_size", "EPUB log_max", "LIMITS memory", "LIMITS file_size", "LIMITS work_size"]),
    (&SIZES, &["LIMITS data", "LIMITS address_space"]),
    (&SIZES, &["EPUB limits_max.memory", "EPUB limits_max.file_size", "EPUB limits_max.work_size"]),
    (&COUNTS, &["HOST max_running", "QUEUE max_running", "QUEUE max_queued", "QUEUE max_per_client"]),
    (&COUNTS, &["HTTP max_waiters", "EPUB max_attempts", "EPUB breaker.failures"]),
    (&COUNTS, &["LIMITS open_files", "LIMITS processes", "PAGES max_bytes"]),
    (&["[0, 1]", "[400, 599]", "[-1, 504]", "[500, 99999999999999999999]"], &["HTTP failed_status"]),
    (&FACTORS, &["EPUB escalate"]),
    (&RANGES, &["PAGES integer"]),
    (&["'9223372036854775807'", "-9223372036854775808", "99999999999999999999"], &["PAGES default"]),
    (&["'..9223372036854775807'", "-9223372036854775808", "'9..1'"], &["LANE when.pages"]),
    (&["''", "'0'", "'00'", "'fff'"], &["EPUB magic", "EPUB ends_with"]),
    (&["'99999999999999999999'", "-9223372036854775808"], &["SCHEDULE params.title"]),
];

/// The file with one more line at a place.
fn file(place: &str, line: &str) -> String {
    let mut text = String::from(
        "state_dir = 's'\nTOP\n[cache]\nmin_free = '0B'\nCACHE\n[host]\nmin_free_memory = '0B'\nHOST\n\
         [queue.default]\nQUEUE\n[http]\nHTTP\n[history]\nHISTORY\n[exporter.epub]\nweb = true\n\
         command = ['/bin/sh', '-c', 'echo whole >\"$1\"', 'sh', '{output}', '{title}']\n\
         filename = '{title}.epub'\nEPUB\n[exporter.epub.limits]\nLIMITS\n[exporter.epub.params.title]\n\
         [exporter.epub.params.pages]\nrequired = false\nkey = false\nPAGES\n[[exporter.epub.lane]]\nqueue = 'default'\nLANE\n\
         [schedule.s]\nexporter = 'epub'\nSCHEDULE\n",
    );
    let key = line.split(" = ").next().unwrap();
    if place == "CACHE" && key == "min_free" {
        text = text.replace("min_free = '0B'\n", "");
    }
    if place == "HOST" && key == "min_free_memory" {
        text = text.replace("min_free_memory = '0B'\n", "");
    }
    let needed =
        [("PAGES", "integer = '0..9'"), ("LANE", "when.pages = 7"), ("SCHEDULE", "every = '1h'\nparams.title = 'S'")];
    for (other, lines) in needed {
        let lines: Vec<_> = lines.lines().filter(|one| place != other || !one.starts_with(key)).collect();
        let lines = lines.join("\n");
        let fitting = if other == "PAGES" && place == "PAGES" && key == "default" {
            "integer = '..9223372036854775807'"
        } else {
            &lines
        };
        text = text.replace(&format!("{other}\n"), &format!("{fitting}\n{other}\n").replace("\n\n", "\n"));
    }
    text = text.replace(&format!("{place}\n"), &format!("{line}\n"));
    let places = ["TOP", "CACHE", "HOST", "QUEUE", "HTTP", "HISTORY", "EPUB", "LIMITS", "PAGES", "LANE", "SCHEDULE"];
    text.lines().filter(|line| !places.contains(line)).collect::<Vec<_>>().join("\n")
}

/// One of the contract's exit codes but that of a fault, and no word of one.
#[track_caller]
fn sound(done: &Done, what: &str) {
    let code = done.output.status.code();
    let text = done.out() + &done.err();
    let good = code.is_some_and(|code| [0, 1, 2, 64, 65, 66, 69, 70, 75, 78].contains(&code));
    assert!(good && !text.contains("fault in pressroom") && !text.contains("panicked"), "{what}: {code:?}: {text}");
}

/// What a site of this configuration does with one queued job. `false`: it is refused, by name.
#[track_caller]
fn lives(site: &Site, what: &str, name: &str) -> bool {
    let checked = site.run(&["check"]);
    sound(&checked, what);
    if checked.output.status.code() == Some(78) {
        assert!(checked.err().contains(name), "{what}: {}", checked.err());
        return false;
    }
    for words in [
        &["request", "epub", "title=Emma", "pages=7", "--no-enqueue"] as &[&str],
        &["request", "epub", "title=Emma", "pages=7", "--client", "anna"],
        &["tick", "--allow-root", "--wait"],
        &["tick", "--allow-root", "--for", "1ms"],
        &["request", "epub", "title=Emma", "pages=7"],
        &["status"],
        &["jobs", "list"],
        &["tick", "--allow-root", "--dry-run"],
    ] {
        sound(&site.run(words), &format!("{what}: {words:?}"));
    }
    let page = get(site, "title=Emma&pages=7", &[]);
    assert!(!page.log.contains("fault in pressroom"), "{what}: {}", page.log);
    true
}

/// Sites of one half of the keys each, as tests run at the same time.
#[track_caller]
fn keys(which: impl Fn(usize) -> bool) {
    let (mut refused, mut lived) = (0, 0);
    for (_, (values, keys)) in KEYS.iter().enumerate().filter(|(number, _)| which(*number)) {
        for (key, value) in keys.iter().flat_map(|key| values.iter().map(move |value| (key, value))) {
            let (place, key) = key.split_once(' ').unwrap();
            let line = format!("{key} = {value}");
            let site = Site::new().create();
            fs::write(site.config(), file(place, &line)).unwrap();
            let last = key.rsplit('.').next().unwrap();
            let name = if place == "SCHEDULE" && key.starts_with("params") { "schedule" } else { last };
            *(if lives(&site, &format!("{place} {line}"), name) { &mut lived } else { &mut refused }) += 1;
        }
    }
    assert!(refused > 10 && lived > 10, "{refused} were refused and {lived} were not");
}

#[test]
fn every_key_of_the_configuration_at_its_extremes_durations() {
    keys(|group| group < 4);
}

#[test]
fn every_key_of_the_configuration_at_its_extremes_more_durations() {
    keys(|group| (4..7).contains(&group));
}

#[test]
fn every_key_of_the_configuration_at_its_extremes_sizes() {
    keys(|group| (7..11).contains(&group));
}

#[test]
fn every_key_of_the_configuration_at_its_extremes_counts() {
    keys(|group| group >= 11);
}

/// Moments as people and programs write them.
const MOMENTS: [&str; 14] = [
    "@0",
    "@999999999999",
    "@999999999999.999999999",
    "@9999999999999",
    "@99999999999999999999",
    "@-1",
    "9999-12-31T23:59:59Z",
    "9999-12-30T22:00:00.999999999-23:59",
    "-009999-01-01T00:00:00Z",
    "+999999-12-31T23:59:59Z",
    "0000-00-00T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "2026-02-30T25:61:61Z",
    "1969-12-31T23:59:59.999999999Z",
];
const NUMBERS: [&str; 8] =
    ["0", "1", "-1", "4294967295", "4294967296", "9223372036854775807", "18446744073709551616", "-9223372036854775809"];

/// Runs the words with `OPTION=VALUE` behind them; what is refused names the option or shows the value.
#[track_caller]
fn option(site: &Site, words: &[&str], option: &str, value: &str) {
    let word = format!("{option}={value}");
    let done = site.run(&[words, &[&word]].concat());
    sound(&done, &format!("{words:?} {word}"));
    if done.output.status.code() == Some(64) {
        let told = done.out() + &done.err();
        assert!(told.contains(option) || told.contains(value), "{words:?} {word}: {told}");
    }
}

#[test]
fn every_option_at_its_extremes() {
    let site = Site::new().create();
    site.ask("Emma");
    site.tick();
    let request = ["request", "epub", "title=Nana", "--client", "anna"];
    for value in DURATIONS.map(|value| value.trim_matches('\'')) {
        // The file is there, or it would be waited for.
        option(&site, &["request", "epub", "title=Emma"], "--wait", value);
        for words in [&["jobs", "list"] as &[&str], &["jobs", "history"]] {
            option(&site, words, "--until", value);
            option(&site, words, "--since", value);
        }
    }
    for value in ["0s", "1ns", "-1s", "1e309s", "99999999999999999999y"] {
        option(&site, &["tick", "--allow-root"], "--for", value);
    }
    for value in MOMENTS {
        option(&site, &["request", "epub", "title=Emma"], "--after", value);
        option(&site, &[&request[..], &["--no-enqueue"]].concat(), "--after", value);
        option(&site, &request, "--not-before", value);
        option(&site, &["jobs", "list"], "--since", value);
        option(&site, &["jobs", "history"], "--until", value);
        option(&site, &["tick", "--allow-root"], "--for", value);
    }
    for value in NUMBERS {
        option(&site, &request, "--priority", value);
        option(&site, &["jobs", "list"], "--limit", value);
        option(&site, &["jobs", "history"], "--limit", value);
        option(&site, &["jobs", "show", "epub/Emma.epub"], "--attempts", value);
        option(&site, &["check", "--create", "--allow-root"], "--user", value);
    }
    let verbose = format!("-{}", "v".repeat(300));
    sound(&site.run(&["status", &verbose]), "-vvv…");
    site.tick().exits(0);
}

#[test]
fn every_id_at_its_extremes() {
    let site = Site::new().exporter("exit 1").create();
    site.ask("Emma");
    site.tick();
    let ids = [
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "00000000000000000000000000",
        "%",
        "..",
        "\u{10ffff}",
    ];
    for id in NUMBERS.iter().chain(&ids) {
        for verb in ["show", "log", "history", "retry", "cancel", "invalidate"] {
            sound(&site.run(&["jobs", verb, "--", id]), &format!("{verb} {id}"));
        }
        sound(&site.run(&["queues", "pause", "--", id]), id);
        sound(&site.run(&["request", "--", id]), id);
        let run = site.run(&["--config", "pressroom.toml", "run", id]);
        assert!(!run.err().contains("fault in pressroom"), "{id}: {}", run.err());
    }
}

/// Whoever says "for ever" gets the file all the same.
#[test]
fn a_wait_without_an_end_ends_with_the_file() {
    for limit in ["580000000000y", "584554531y", "1000y"] {
        let site = Site::new().create();
        let mut waiting = site.command(&["request", "epub", "title=Emma", "--wait", limit]).spawn().unwrap();
        wait_until("the job is queued", || {
            site.count("SELECT count(*) FROM job") == 1 || waiting.try_wait().unwrap().is_some()
        });
        site.tick();
        assert!(waiting.wait().unwrap().success(), "{limit}");
    }
}

#[test]
fn a_tick_without_an_end_works_until_it_is_told_to_stop() {
    let site = Site::new().create();
    site.ask("Emma");
    let mut tick = site.command(&["tick", "--allow-root", "--for", "580000000000y"]).spawn().unwrap();
    wait_until("the file is made", || site.cached("epub/Emma.epub").exists() || tick.try_wait().unwrap().is_some());
    assert!(tick.try_wait().unwrap().is_none());
    kill(tick);
}

#[test]
fn every_value_of_a_query_and_a_header_at_its_extremes() {
    let site = Site::new().exporter_with("printf whole >\"$1\"", "web = true");
    let site = site.more("[http]\nmax_wait = \"580000000000y\"\nrefresh = \"0s\"\n").create();
    site.ask("Emma");
    site.tick();
    let look = |query: &str, headers: &[(&str, &str)]| {
        let page = get(&site, query, headers);
        assert!(page.status < 500 && !page.log.contains("fault in pressroom"), "{query} {headers:?}: {page:?}");
    };
    for value in DURATIONS.iter().map(|value| value.trim_matches('\'')).chain(NUMBERS) {
        look(&format!("title=Emma&wait={}", value.replace(' ', "+")), &[]);
        look(&format!("title=Emma&format=page.{value}"), &[]);
        look(&format!("title=Emma&refresh={value}"), &[]);
        look(&format!("title=Nana&after={value}"), &[]);
        for range in [format!("bytes={value}-"), format!("bytes=-{value}"), format!("bytes=0-{value}")] {
            look("title=Emma", &[("HTTP_RANGE", &range)]);
        }
        look("title=Emma", &[("CONTENT_LENGTH", value)]);
        look("title=Emma", &[("HTTP_ACCEPT", &format!("text/html;q={value}"))]);
    }
    for value in MOMENTS {
        look(&format!("title=Emma&after={}", value.replace('+', "%2B")), &[]);
    }
    for date in ["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 01 Jan 99999 00:00:00 GMT"] {
        for header in ["HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE", "HTTP_IF_RANGE"] {
            look("title=Emma", &[(header, date), ("HTTP_RANGE", "bytes=0-1")]);
        }
    }
}

/// The columns of numbers. What the schema itself refuses cannot be there.
#[test]
fn every_number_of_a_row_at_its_extremes() {
    let columns = |table: &str, site: &Site| -> Vec<String> {
        let sql =
            format!("SELECT group_concat(name) FROM pragma_table_info('{table}') WHERE type = 'INTEGER' AND pk = 0");
        site.text(&sql).split(',').map(str::to_owned).collect()
    };
    let site = Site::new().more("[schedule.s]\nexporter = \"epub\"\nevery = \"1h\"\nparams.title = \"S\"\n").create();
    for table in ["job", "attempt", "meta", "queue", "schedule"] {
        for column in columns(table, &site) {
            for value in [i64::MAX, i64::MIN, -1] {
                let title = format!("{table}-{column}-{value}");
                site.ask(&title);
                let set = format!("UPDATE OR IGNORE {table} SET {column} = {value}");
                if site.database().execute(&set, []).is_err() {
                    continue;
                }
                for words in [
                    &["status"] as &[&str],
                    &["jobs", "list"],
                    &["jobs", "history"],
                    &["request", "epub", &format!("title={title}")],
                    &["tick", "--allow-root", "--dry-run"],
                    &["tick", "--allow-root", "--wait"],
                ] {
                    let done = site.run(words);
                    let told = done.out() + &done.err();
                    assert!(
                        !told.contains("fault in pressroom") && !told.contains("panicked"),
                        "{set}: {words:?}: {told}"
                    );
                }
            }
        }
    }
}

/// What a file system can say about a file that was copied from anywhere.
#[test]
fn every_time_of_a_file_at_its_extremes() {
    let site = Site::new().exporter_with("printf whole >\"$1\"", "web = true").create();
    site.ask("Emma");
    site.tick();
    let times = [0, 1, 4_294_967_296, 253_402_300_800, 9_000_000_000_000];
    for seconds in times.map(Duration::from_secs) {
        for time in [SystemTime::UNIX_EPOCH.checked_add(seconds), SystemTime::UNIX_EPOCH.checked_sub(seconds)] {
            let file = File::open(site.cached("epub/Emma.epub")).unwrap();
            if file.set_times(FileTimes::new().set_modified(time.unwrap())).is_err() {
                continue;
            }
            sound(&site.run(&["request", "epub", "title=Emma", "--no-enqueue", "--format", "json"]), "a hit");
            let page = get(&site, "title=Emma", &[]);
            assert!(page.status < 500 && !page.log.contains("fault in pressroom"), "{time:?}: {page:?}");
            sound(&site.run(&["status"]), "status");
            sound(&site.run(&["tick", "--allow-root", "--dry-run"]), "a dry run");
        }
    }
}
