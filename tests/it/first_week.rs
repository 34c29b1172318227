//! What an administrator meets in the first week.

use std::path::Path;

use crate::support::{
    accounts::{WEB, become_and_run, shared_site, two_users},
    outside::skipped,
    site::{Site, wait_until},
};

#[test]
fn a_parameter_is_required_unless_it_has_a_default() {
    let params = "[exporter.plain]\ncommand = [\"/bin/true\"]\nfilename = \"{title}-{lang}-{font}.txt\"\n\
                  [exporter.plain.params.title]\n[exporter.plain.params.lang]\ndefault = \"en\"\n\
                  [exporter.plain.params.font]\nrequired = false\n";
    let site = Site::new().more(params).create();
    site.run(&["request", "plain"]).exits(65).stdout("invalid parameter title is missing\n");
    site.run(&["request", "plain", "title="]).exits(65).stdout("invalid parameter title is missing\n");
    site.run(&["request", "plain", "title=Emma"]).exits(75);
    assert_eq!(site.text("SELECT filename FROM job"), "plain/Emma-en-%.txt");
}

/// Everybody but the members of its group is shut out of a site, the administrator's own login as well.
#[test]
fn a_user_outside_the_group_is_told_which_one_to_join() {
    if !two_users("a_user_outside_the_group_is_told_which_one_to_join") {
        return;
    }
    let (site, program) = shared_site(r#"printf book >"$1""#);
    let advice = "daemon is not in group prtest";
    let command = "`sudo usermod -aG prtest daemon`) and log in again";
    for words in [
        "request epub title=Emma",
        "request epub title=Emma --wait 1s",
        "jobs list",
        "jobs retry --status failed --yes",
        "queues list",
        "status",
        "check",
        "tick --dry-run",
    ] {
        let done = become_and_run(&site, &program, "daemon", "022", words);
        let told = format!("{}{}", done.out(), done.err());
        for part in ["ermission denied", advice, command] {
            assert!(told.contains(part), "no {part:?} in {told} of {words}");
        }
        assert_eq!(told.matches("`sudo ").count(), 1, "one advice: {told}");
    }
    let told = become_and_run(&site, &program, "daemon", "022", "request epub title=Emma --format json");
    assert!(told.json()["reason"].as_str().is_some_and(|reason| reason.contains(command)), "{}", told.out());
    for words in ["tick", "try epub title=Emma"] {
        let done = become_and_run(&site, &program, "daemon", "022", words);
        assert_eq!(done.warns("sudo -u prtest-cron").err().matches("`sudo ").count(), 1, "one advice: {}", done.err());
        become_and_run(&site, &program, WEB, "022", words).warns("sudo -u prtest-cron");
    }
    let site = site.exporter_with("true", "web = true");
    let cgi = "env REQUEST_METHOD=GET PATH_INFO=/epub QUERY_STRING=title=Emma";
    let cgi = format!("{cgi} {}", program.display());
    become_and_run(&site, Path::new(&cgi), "daemon", "022", "request --cgi").says("Status: 500").warns(command);
    become_and_run(&site, &program, WEB, "022", "request epub title=Emma").exits(75).stderr("");
}

/// `1GB` was read back as 953.7 MiB.
#[test]
fn sizes_are_shown_in_the_units_in_which_they_are_written() {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\nmax_size = \"10GB\"\n[host]\nmin_free_memory = \"0B\"\n";
    let limits = "limits.memory = \"300MB\"\nlimits.file_size = \"512MiB\"\nlimits.work_size = \"1.25GB\"";
    let site = Site::new().head(head).exporter_with(r#"head -c 300000 /dev/zero >"$1""#, limits).create();
    site.run(&["status"]).says("0 B of 10 GB");
    let tried = site.run(&["try", "--allow-root", "epub", "title=Emma"]);
    tried.exits(0).says("B of 300 MB\n").says("largest file: 300 kB of 512 MiB\n").says(" of 1.25 GB\n");
    site.ask("Emma");
    site.tick();
    site.run(&["status"]).says("1 file, 300 kB of 10 GB");
    site.run(&["jobs", "show", "epub/Emma.epub"]).says("fresh, 300 kB").says(" of 300 MB");
    let low = head.replace("min_free = \"0B\"\nmax", "min_free = \"8EB\"\nmax");
    let site = site.head(&low);
    site.run(&["status"]).exits(2).says("less than min_free (8 EB)").says("at least 8 EB wanted");
    site.run(&["check"]).says("min_free (8 EB)");
    for words in [&["status"][..], &["check"]] {
        let shown = site.run(words).out();
        assert!(!shown.contains("iB"), "{shown}");
    }
}

/// Two books have failed for good: one whose program was missing, one that is bad.
fn failed() -> Site {
    let settings = "max_attempts = 1\nfailure_ttl = \"1d\"\nbreaker = { failures = 2, pause = \"5m\" }";
    let site = Site::new().exporter_with(r#"[ -e ../../../broken ] && exit 75; echo x >"$1""#, settings).create();
    std::fs::write(site.path("broken"), "").unwrap();
    for title in ["Emma", "Nana"] {
        site.ask(title).exits(75);
    }
    site.tick();
    site.mailed();
    std::fs::remove_file(site.path("broken")).unwrap();
    site
}

#[test]
fn a_dismissed_failure_is_forgotten_and_the_next_request_queues_anew() {
    let site = failed();
    site.ask("Emma").exits(70);
    site.run(&["jobs", "dismiss", "1"]).exits(0).stdout("dismissed job 1 (epub/Emma.epub)\n");
    site.run(&["jobs", "show", "1"]).says("exit status 75");
    assert_eq!(site.text("SELECT group_concat(filename) FROM job"), "epub/Nana.epub");
    site.run(&["jobs", "dismiss", "--exporter", "epub"]).exits(64).warns("this would dismiss 1 job; give --yes");
    site.run(&["jobs", "dismiss", "--exporter", "epub", "--status", "queued", "--yes"])
        .exits(64)
        .warns("`dismiss` does");
    site.run(&["jobs", "dismiss", "--exporter", "epub", "--yes"]).exits(0).stdout("dismissed job 2 (epub/Nana.epub)\n");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 2);
    site.clock(301.0);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.run(&["jobs", "dismiss", "3"]).exits(65).warns("is queued, not failed; `pressroom jobs cancel 3` ends it");
}

#[test]
fn a_retry_closes_the_breaker_and_status_is_well_after_the_repair() {
    let site = failed();
    site.run(&["status"]).exits(1).says("`pressroom jobs retry --exporter epub`");
    site.ask("Third").exits(69);
    site.run(&["jobs", "retry", "1"]).exits(0);
    site.tick().exits(0);
    site.ask("Emma").exits(0);
    site.run(&["jobs", "retry", "--status", "failed", "--yes"]).exits(0);
    site.tick().exits(0);
    site.run(&["status"]).exits(0);
}

#[test]
fn a_successful_trial_closes_the_breaker_and_a_failed_one_does_not() {
    let site = failed();
    std::fs::write(site.path("broken"), "").unwrap();
    let trial = || site.run(&["try", "--allow-root", "epub", "title=Third"]);
    trial().exits(70);
    site.ask("Third").exits(69).stdout("unavailable this export keeps failing at the moment\n");
    std::fs::remove_file(site.path("broken")).unwrap();
    trial().exits(0).says("the breaker of exporter epub is closed");
    site.ask("Third").exits(75).stdout("queued 1\n");
    site.tick().exits(0);
    site.ask("Third").exits(0);
    trial().exits(0);
    assert!(!trial().out().contains("breaker"));
}

/// Ten of ten attempts failed for want of a program; with the program back `status` said so for an hour.
#[test]
fn status_counts_failures_that_are_neither_retried_nor_dismissed() {
    let settings = "max_attempts = 1\nbreaker.failures = 1000";
    let site = Site::new().exporter_with("exit 1", settings).create();
    let command = std::fs::read_to_string(site.config()).unwrap();
    std::fs::write(site.config(), command.replace("/bin/sh", "/bin/nosuchshell")).unwrap();
    for title in 0..10 {
        site.ask(&title.to_string());
        site.tick();
    }
    let codes = || {
        let report = site.run(&["status", "--format", "json"]).json();
        report["findings"].as_array().unwrap().iter().map(|one| one["code"].to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(codes(), "\"spawn\" \"failures\"");
    site.run(&["jobs", "dismiss", "1", "2", "3", "4", "5", "6"]).exits(0);
    assert_eq!(codes(), "\"spawn\"");
    std::fs::write(site.config(), command.replace("exit 1", "echo x >\"$1\"")).unwrap();
    site.run(&["jobs", "retry", "--status", "failed", "--yes"]).exits(0);
    assert_eq!(codes(), "");
    site.tick().exits(0);
    site.run(&["status"]).exits(0).says("spawn 10, of 14 attempts that ended");
}

#[test]
fn a_run_is_seen_by_its_name_and_with_the_memory_that_it_has_now() {
    let site = Site::new().exporter_with(r#"until [ -e ../../../go ]; do sleep 0.02; done; echo x >"$1""#, "").create();
    site.ask("Emma");
    site.brief_tick();
    let attempt = site.text("SELECT attempt FROM job");
    let named = |pid: &str| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        read("cmdline").ends_with(&format!("run\0{attempt}\0")).then(|| (read("cmdline"), read("comm")))
    };
    let run = || std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| named(entry.file_name().to_str()?));
    wait_until("the run has its name", || run().is_some_and(|(_, name)| name == "pressroom run\n"));
    assert!(run().unwrap().0.starts_with("pressroom run epub/Emma.epub:\0"));
    wait_until("its memory is seen", || {
        site.run(&["jobs", "show", "1"]).exits(0).out().contains("B now of 2 GB, CPU ")
    });
    std::fs::write(site.path("go"), "").unwrap();
    wait_until("it has ended", || site.count("SELECT count(*) FROM job") == 0);
    site.run(&["jobs", "show", "1"]).exits(0).says("B of 2 GB");
}

#[test]
fn of_an_attempt_that_could_not_be_started_nothing_is_shown_as_measured() {
    let site = Site::new().exporter_with("true", "max_attempts = 1\nlimits.memory = \"none\"").create();
    let command = std::fs::read_to_string(site.config()).unwrap();
    std::fs::write(site.config(), command.replace("/bin/sh", "/bin/nosuchshell")).unwrap();
    site.ask("Emma");
    site.tick();
    let shown = site.run(&["jobs", "show", "1"]).exits(0).says("spawn").out();
    assert!(!shown.contains('?') && !shown.contains("memory") && !shown.contains("any"), "{shown}");
}

#[test]
fn a_time_may_be_written_as_people_write_it_wherever_one_is_taken() {
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let ask = |words: &[&str]| site.run(&[&["request", "epub", "title=Emma"], words].concat());
    ask(&["--after", "2h"]).exits(0);
    ask(&["--after", "2026-11-30 21:00", "--no-enqueue"]).exits(0);
    site.clock(7300.0);
    ask(&["--after", "1s", "--no-enqueue"]).exits(66);
    ask(&["--after", "2h", "--no-enqueue"]).exits(66);
    for wrong in ["30.11.2026", "2026-30-11 21:00", "soon", "2h ago"] {
        let told = ask(&["--after", wrong]);
        told.exits(64)
            .warns(&format!("{wrong:?} is not a time; write one like \"2026-03-01 12:00\""))
            .warns("two hours ago");
        ask(&["--not-before", wrong]).exits(64).warns("two hours from now");
        for words in [&["jobs", "list", "--since", wrong][..], &["jobs", "history", "--until", wrong]] {
            site.run(words).exits(64).warns("is not a time");
        }
    }
    site.run(&["request", "epub", "title=Nana", "--not-before", "2h"]).exits(75);
    let wait = site.count("SELECT run_after - submitted FROM job WHERE filename = 'epub/Nana.epub'");
    assert!((7_199_000..=7_200_000).contains(&wait), "{wait}");
    site.run(&["request", "epub", "title=Late", "--not-before", "2126-03-01 03:00"]).exits(75);
    assert_eq!(site.count("SELECT run_after FROM job WHERE filename = 'epub/Late.epub'"), 4_928_007_600_000);
    site.run(&["jobs", "list", "--since", "2026-03-01 12:00"]).exits(0).says("epub/Nana.epub");
    site.run(&["jobs", "list", "--until", "1h", "--format", "json"]).exits(0).stdout("");
}

/// Tables and the status page have the local time; programs read UTC.
#[test]
fn people_read_and_write_times_of_the_configured_zone() {
    if !Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        return skipped("people_read_and_write_times_of_the_configured_zone", "no tzdata here");
    }
    let head =
        "state_dir = \"s\"\ntime_zone = \"Asia/Tokyo\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n";
    let site = Site::new().head(head).create();
    site.run(&["request", "epub", "title=Late", "--not-before", "2126-03-01 12:00"]).exits(75);
    assert_eq!(site.count("SELECT run_after FROM job"), 4_928_007_600_000);
    site.run(&["jobs", "list"]).exits(0).says("not before 2126-03-01 12:00:00 JST");
    let shown = site.run(&["jobs", "list", "--format", "json"]).exits(0).json();
    assert_eq!(shown["run_after"], "2126-03-01T03:00:00Z");
    site.tick().exits(0);
    site.run(&["status"]).exits(0).says(" JST (");
    let site = site.head(&head.replace("Tokyo", "Atlantis"));
    site.run(&["check"]).exits(0).says("warning: time_zone: this machine knows no time zone \"Asia/Atlantis\"");
    site.run(&["jobs", "list"]).exits(0).says("not before 2126-03-01T03:00:00Z");
}

#[test]
fn an_unknown_exporter_or_queue_is_named_unless_something_of_it_is_left() {
    let old = "[exporter.old]\ncommand = [\"/bin/false\"]\nfilename = \"{n}.txt\"\n[exporter.old.params.n]\n";
    let site = Site::new().more(old).create();
    site.run(&["request", "old", "n=1"]).exits(75);
    site.tick();
    for words in [
        &["jobs", "list"][..],
        &["jobs", "history"],
        &["jobs", "retry", "--yes"],
        &["jobs", "cancel", "--yes"],
        &["jobs", "dismiss", "--yes"],
        &["jobs", "invalidate", "--yes"],
    ] {
        let told = site.run(&[words, &["--exporter", "epup"]].concat());
        told.exits(64).stdout("").warns("there is no exporter \"epup\"; did you mean \"epub\"?");
        site.run(&[words, &["--exporter", "zzzzz"]].concat()).exits(64).warns("there are epub, old");
        if words[1] != "invalidate" {
            let told = site.run(&[words, &["--queue", "defualt"]].concat());
            told.exits(64).warns("there is no queue \"defualt\"; did you mean \"default\"?");
        }
    }
    let site = site.more("");
    site.run(&["jobs", "list", "--exporter", "old"]).exits(0).says("old/1.txt");
    site.run(&["jobs", "dismiss", "--exporter", "old", "--yes"]).exits(0);
    site.run(&["jobs", "history", "--exporter", "old"]).exits(0).says("old/1.txt");
    site.run(&["jobs", "list", "--exporter", "old"]).exits(0);
}

#[test]
fn lists_tell_priority_client_and_how_attempts_ended() {
    let script = r#"case $2 in Good) echo x >"$1";; Slow) kill -9 $$;; *) exit "${{2#Bad}}";; esac"#;
    let site = Site::new().exporter_with(script, "max_attempts = 1").create();
    site.run(&["request", "epub", "title=Good", "--priority", "-3", "--client", "anna"]).exits(75);
    let list = site.run(&["jobs", "list"]);
    list.exits(0).says("ID  STATUS  QUEUE    PRI  CLIENT ").says("queued  default  -3   ");
    let hash = site.text("SELECT client FROM job");
    list.says(&format!("  {}…  ", &hash[..8]));
    site.ask("Bad3");
    site.ask("Bad65");
    site.ask("Slow");
    site.tick();
    let history = site.run(&["jobs", "history"]);
    history.exits(0).says("  exit 3 ").says("  exit 65 ").says("  signal 9 ").says("  ok ");
    let codes = site.run(&["jobs", "history", "--result", "exit", "--format", "json"]).each("exit_code");
    assert_eq!(codes.len(), 2);
    assert!(site.run(&["jobs", "history", "--format", "json"]).each("result").contains(&"exit".to_owned()));
    let shown = site.run(&["jobs", "show", "1"]);
    shown.exits(0).says("parameters  {\"title\":\"Good\"}").says("queue       default").says("exporter    epub");
    shown.says(&format!("client      {hash}"));
}

#[test]
fn each_of_several_errors_has_its_prefix() {
    let site = Site::new();
    let site = site.more("[exporter.a]\ncommand = [\"x\", \"{t}\"]\nfilename = \"{t}.txt\"\n[nonsense]\n");
    for words in [&["tick"][..], &["check"], &["request", "epub", "title=x"], &["jobs", "list"]] {
        let told = site.run(words).exits(78).err();
        assert!(told.lines().count() == 3 && told.lines().all(|line| line.starts_with("pressroom: /")), "{told}");
    }
    let told = site.run(&["status"]).exits(2).out();
    assert!(told.lines().count() == 3 && told.lines().all(|line| line.starts_with("critical: /")), "{told}");
    site.run(&["check"]).warns("has the unknown placeholder {t}; add [exporter.a.params.t]");
}

#[test]
fn queues_that_are_not_configured_are_listed_while_they_hold_jobs() {
    let queue = "queue = \"slow\"\n";
    let site = Site::new().exporter_with("exit 1", queue).more("[queue.slow]\n").create();
    site.ask("Emma");
    let site = site.exporter_with("exit 1", "").more("");
    site.run(&["queues", "list"]).exits(0).says("slow ").says("(not configured)");
    site.run(&["jobs", "cancel", "1"]).exits(0);
    let list = site.run(&["queues", "list"]).exits(0).out();
    assert!(!list.contains("slow"), "{list}");
    let status = site.run(&["status"]).out();
    assert!(!status.contains("slow"), "{status}");
}

#[test]
fn help_tells_global_options_apart() {
    let site = Site::new();
    for words in [&["request"][..], &["tick"], &["jobs", "list"], &["jobs", "history"], &["jobs", "cancel"], &["check"]]
    {
        let help = site.run(&[words, &["--help"]].concat()).exits(0).out();
        let (own, global) = help.split_once("\nGlobal options:\n").expect(&help);
        for option in ["--config", "--verbose", "--log-format"] {
            assert!(global.contains(option) && !own.contains(&format!("{option} ")), "{option}: {help}");
        }
        for option in ["--sort", "--limit", "--format ", "-y, --yes"] {
            let filters = own.split("\nFilters:\n").nth(1).unwrap_or_default();
            assert!(!filters.contains(option) && !global.contains(option), "{option}: {help}");
        }
    }
}
