//! Everything that grows has a bound: logs and history, failed jobs, the database's file, the cache.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    time::{Duration, SystemTime},
};

use crate::support::{
    classes::run_all,
    site::{Site, wait_until},
};

/// Copies of the one attempt that there is, so many with each result; their ids are as long as real ones.
fn flood(site: &Site, count: u32, ok: bool, offset: u32) {
    let result = if ok { "ok" } else { "exit" };
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits,
                              ended, result, duration, log, log_size, row_size)
         SELECT printf('%026d', i + {offset}), 1, 'epub/x.epub', 'epub', '{{}}', 'default', 1, 1, 1, 1, json(?1),
                strftime('%s', 'now') * 1000 - 60000 + i, '{result}', 1, 1, 4096, 600 FROM n"
    );
    let database = site.database();
    database.execute(&sql, [crate::support::site::LIMITS]).unwrap();
    database.execute("UPDATE meta SET history_size = (SELECT sum(log_size + row_size) FROM attempt)", []).unwrap();
    for number in 1..=count {
        fs::write(site.path(&format!("s/log/{:026}.log", number + offset)), "x").unwrap();
    }
}

/// Rounds at a later time. After a jump of the clock nothing expires in the first one.
#[track_caller]
fn later(site: &Site, seconds: f64) {
    site.clock(seconds);
    for _ in 0..2 {
        site.tick().exits(0).stderr("");
    }
}

fn history_size(site: &Site) -> i64 {
    site.count("SELECT history_size FROM meta")
}

fn attempts(site: &Site, result: &str) -> i64 {
    site.count(&format!("SELECT count(*) FROM attempt WHERE result = '{result}'"))
}

#[test]
fn what_an_attempt_takes_is_counted_when_it_ends() {
    let site = Site::new().exporter("echo much; echo >\"$1\"").create();
    site.ask("Emma").exits(75);
    run_all(&site);
    let log = fs::metadata(site.path("s/log").join(&site.logs()[0])).unwrap();
    assert_eq!(site.count("SELECT log_size FROM attempt"), i64::try_from(log.blocks() * 512).unwrap());
    assert!(history_size(&site) > site.count("SELECT log_size + 512 FROM attempt"));
    site.run(&["check", "--allow-root"]).exits(0).stderr("");
    later(&site, 20.0 * 86400.0);
    later(&site, 40.0 * 86400.0);
    assert_eq!((history_size(&site), site.count("SELECT count(*) FROM attempt")), (0, 0));
}

/// 3,434 attempts in 40 s were shown to outrun a round that trims five hundred.
#[test]
fn a_history_beyond_its_size_is_trimmed_as_fast_as_it_grows() {
    let site = Site::new().more("[history]\nmax_size = \"1MB\"\n").create();
    site.tick().exits(0);
    flood(&site, 3434, false, 0);
    let begun = std::time::Instant::now();
    let mut rounds = 0;
    wait_until("the history fits", || {
        site.tick().exits(0).stderr("");
        rounds += 1;
        history_size(&site) <= 1_000_000
    });
    eprintln!("{rounds} round(s), {:.2} s for 3,434 attempts", begun.elapsed().as_secs_f64());
    let left = attempts(&site, "exit");
    assert!((200..=213).contains(&left), "no more goes than has to: {left}");
    assert_eq!(site.logs().len(), usize::try_from(left).unwrap());
    assert_eq!(site.logs()[0], format!("{:026}.log", 3434 - left + 1), "the oldest go");
    site.run(&["check", "--allow-root"]).exits(0).stderr("");
}

#[test]
fn logs_of_successes_go_first_then_their_rows_and_failures_last() {
    let site = Site::new().more("[history]\nmax_size = \"1MB\"\n").create();
    site.tick().exits(0);
    flood(&site, 100, false, 0);
    flood(&site, 130, true, 1000);
    site.tick().exits(0).stderr("");
    assert_eq!((attempts(&site, "ok"), attempts(&site, "exit")), (130, 100));
    let kept = site.count("SELECT count(*) FROM attempt WHERE log = 1 AND result = 'ok'");
    assert!((1..130).contains(&kept), "{kept}");
    assert_eq!(site.logs().len(), usize::try_from(100 + kept).unwrap());
    let config = fs::read_to_string(site.config()).unwrap().replace("1MB", "500KB");
    fs::write(site.config(), &config).unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(attempts(&site, "exit"), 100);
    assert!((1..130).contains(&attempts(&site, "ok")));
    fs::write(site.config(), config.replace("500KB", "100KB")).unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(attempts(&site, "ok"), 0);
    assert!((1..30).contains(&attempts(&site, "exit")), "{}", attempts(&site, "exit"));
    assert!(history_size(&site) <= 100_000);
}

#[test]
fn an_attempt_that_runs_is_not_forgotten_however_small_the_history_may_be() {
    let script = "until [ -e ../../../go ]; do sleep 0.02; done; echo >\"$1\"";
    let site = Site::new().exporter(script).more("[history]\nmax_size = \"1B\"\n").create();
    site.ask("Emma").exits(75);
    site.brief_tick().exits(0);
    site.brief_tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 1);
    fs::write(site.path("go"), "").unwrap();
    wait_until("it has ended", || {
        site.cached("epub/Emma.epub").exists() && site.count("SELECT count(*) FROM job") == 0
    });
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM attempt"), 0);
    assert_eq!(site.logs(), [""; 0]);
}

/// Failed jobs that nobody has been told about, each with a message.
fn failures(site: &Site, count: u32) {
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO job (filename, exporter, params, queue, status, rank, submitted, run_after, queued_since, last_asked,
                          started, failed, attempt, attempts, result, message)
         SELECT 'epub/flood' || i || '.epub', 'epub', '{{\"title\":\"flood' || i || '\"}}', 'default', 3, 1, t, t, t, t,
                t, t, printf('%026d', i), 1, 'exit', printf('%.*c', 300, 'x')
           FROM n, (SELECT strftime('%s', 'now') * 1000 - 30000 AS t)"
    );
    site.database().execute(&sql, []).unwrap();
}

#[test]
fn failed_jobs_have_a_bound_and_a_flood_of_them_is_told_in_a_few_lines() {
    let site = Site::new().create();
    site.tick().exits(0);
    failures(&site, 20_000);
    let mut told = String::new();
    wait_until("no more are kept than is allowed", || {
        told += &site.tick().exits(0).err();
        site.count("SELECT count(*) FROM job") == 10_000
    });
    assert!(told.lines().count() < 60, "{told}");
    let more: u64 = told
        .lines()
        .filter_map(|line| line.strip_suffix(" more jobs have failed")?.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(more + told.matches(" failed: exit").count() as u64, 20_000, "{told}");
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT min(id) FROM job WHERE filename LIKE 'epub/flood%'"), 10_001, "the oldest go");
}

#[test]
fn the_databases_file_shrinks_after_a_flood() {
    let size = |site: &Site| fs::metadata(site.path("s/queue/pressroom.db")).unwrap().len();
    let site = Site::new().exporter_with("exit 1", "failure_keep = \"1s\"").create();
    site.tick().exits(0);
    failures(&site, 20_000);
    flood(&site, 2000, false, 0);
    site.database().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let before = size(&site);
    wait_until("the file is small again", || {
        site.tick().exits(0);
        size(&site) < before / 4
    });
    eprintln!("{before} bytes before, {} after", size(&site));
    assert_eq!(site.text("PRAGMA integrity_check"), "ok");
}

fn with_cache(more: &str) -> Site {
    let head = "state_dir = \"s\"\n[cache]\nmin_free = \"0B\"\nttl = \"1d\"\ngrace = \"2m\"\nmax_size = \"10KB\"\n\
                [host]\nmin_free_memory = \"0B\"\n";
    let site = Site::new().head(head).more(more).create();
    site.tick().exits(0).stderr("");
    site
}

fn put(site: &Site, filename: &str, bytes: usize, age: u64) {
    let path = site.cached(filename);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![b'x'; bytes]).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
}

const PDF: &str = "[exporter.pdf]\nsource = \"epub\"\ncommand = [\"/bin/cp\", \"{source}\", \"{output}\"]\n\
                   filename = \"{title}.pdf\"\n[exporter.pdf.params.title]\nrequired = true\n";

#[test]
fn others_go_in_the_place_of_a_file_that_a_job_needs() {
    let site = with_cache(PDF);
    put(&site, "epub/Needed.epub", 7000, 500);
    put(&site, "epub/b.epub", 6000, 400);
    put(&site, "epub/c.epub", 2000, 300);
    site.run(&["queues", "pause", "default"]).exits(0);
    site.run(&["request", "pdf", "title=Needed"]).exits(75);
    site.tick().exits(0).stderr("");
    let served =
        |title: &str| site.run(&["request", "epub", &format!("title={title}"), "--no-enqueue"]).output.status.code();
    assert_eq!(["Needed", "b", "c"].map(served), [Some(0), Some(66), Some(0)]);
    later(&site, 121.0);
    assert_eq!(site.names("s/cache/epub"), ["Needed.epub", "c.epub"]);
    assert_eq!(site.text("SELECT cache_files || ' ' || cache_size FROM meta"), "2 9000");
}

/// A hit leaves no trace: only after that no more of them are given may a file go.
#[test]
fn a_file_that_was_just_answered_as_ready_stays_for_grace_although_the_cache_is_full() {
    let forever =
        "[exporter.ever]\ncommand = [\"true\"]\nfilename = \"{n}.txt\"\nttl = \"none\"\n[exporter.ever.params.n]\n";
    let site = with_cache(forever);
    put(&site, "epub/Old.epub", 8000, 5000);
    put(&site, "ever/1.txt", 8000, 4000);
    put(&site, "epub/New.epub", 8000, 10);
    site.ask("Old").exits(0);
    site.run(&["request", "ever", "n=1"]).exits(0);
    site.tick().exits(0).stderr("");
    assert!(site.cached("epub/Old.epub").exists() && site.cached("ever/1.txt").exists(), "grace has not passed");
    site.run(&["request", "epub", "title=Old", "--no-enqueue"]).exits(66);
    site.run(&["request", "ever", "n=1", "--no-enqueue"]).exits(66);
    later(&site, 100.0);
    assert!(site.cached("epub/Old.epub").exists());
    later(&site, 121.0);
    assert!(!site.cached("epub/Old.epub").exists() && !site.cached("ever/1.txt").exists());
    assert_eq!(site.names("s/cache/epub"), ["New.epub"]);
}

#[test]
fn a_cache_that_only_young_files_fill_says_so() {
    let site = with_cache("");
    put(&site, "epub/a.epub", 8000, 20);
    put(&site, "epub/b.epub", 8000, 10);
    site.tick().exits(0).stderr("");
    assert_eq!(site.names("s/cache/epub").len(), 2);
    site.run(&["status"]).exits(1).says("warning: the cache holds").says("more than max_size");
    later(&site, 130.0);
    assert!(!site.run(&["status"]).out().contains("max_size ("), "what leaves is no matter for anybody");
}

#[test]
fn samples_of_long_ago_go_however_many_they_are() {
    let site = Site::new().create();
    site.tick().exits(0);
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
               INSERT INTO sample (at, queue, queued, started) SELECT i, 'default', 1, 1 FROM n";
    site.database().execute(sql, []).unwrap();
    site.clock(61.0);
    site.tick().exits(0).stderr("");
    assert_eq!(site.count("SELECT count(*) FROM sample WHERE at < 9999"), 0);
}
