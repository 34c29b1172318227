//! A site at random: its configuration, its rows, its files. No stamp lies within ten seconds of a moment that counts.

use std::{
    fmt::Write,
    fs,
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, params};

use crate::support::{
    dice::Dice,
    site::{LIMITS, Site},
};

const MINUTE: i64 = 60_000;

const EXPORTERS: &str = r#"
[exporter.epub]
command = ["/bin/sh", "-c", 'echo x >"$1"', "sh", "{output}", "{title}"]
filename = "{title}.epub"
retry_on = ["lost", "spawn"]
retry_delay = "80s"
max_attempts = 2
queued_ttl = "20m"
breaker = { failures = 3, pause = "5m" }
[exporter.epub.params.title]
required = true
max_bytes = 6

[exporter.pdf]
source = "epub"
queue = "qb"
command = ["/bin/cp", "{source}", "{output}"]
filename = "{title}.pdf"
retry_on = ["lost"]
retry_delay = "80s"
max_attempts = 3
queued_ttl = "20m"
breaker = { failures = 30, pause = "5m" }
[exporter.pdf.params.title]
required = true

[exporter.text]
queue = "qc"
command = ["/bin/cp", "/etc/hostname", "{output}"]
filename = "{title}.txt"
abandon_after = "12m"
queued_ttl = "40m"
breaker = { failures = 30, pause = "5m" }
[exporter.text.params.title]
required = true

[exporter.sync]
output = "none"
command = ["/bin/true"]
[exporter.sync.params.title]
required = true
"#;

pub fn make(dice: &mut Dice) -> Site {
    let mut more = EXPORTERS.to_owned();
    for queue in ["default", "qb", "qc"] {
        let _ = writeln!(more, "[queue.{queue}]\nmax_running = {}", 1 + dice.roll(3));
    }
    if dice.roll(4) == 0 {
        more += "[exporter.odd]\ncommand = [\"/bin/true\"]\noutput = \"none\"\n[exporter.odd.params.title]\npattern = \"(\"\n";
    }
    for schedule in 0..dice.roll(4) {
        let exporter = ["sync", "text", "epub", "pdf"][pick(dice, 4)];
        let title = title(dice);
        let _ = writeln!(more, "[schedule.s{schedule}]\nexporter = \"{exporter}\"\nevery = \"10m\"");
        let _ = writeln!(more, "params.title = \"{title}\"");
    }
    let memory = if dice.roll(8) == 0 { "900PB" } else { "0B" };
    let disk = if dice.roll(12) == 0 { "900PB" } else { "0B" };
    let head = format!(
        "state_dir = \"s\"\n[cache]\nmin_free = \"{disk}\"\n[host]\nmax_running = {}\nmin_free_memory = \"{memory}\"\n",
        1 + dice.roll(6)
    );
    let site = Site::new().head("state_dir = \"s\"\n").more("").create();
    fs::write(site.config(), head + &more).expect("the configuration");
    fill(&site, dice);
    site.run(&["check", "--create", "--allow-root"]); // which counts anew, whatever it says of the configuration
    site
}

fn pick(dice: &mut Dice, most: u64) -> usize {
    usize::try_from(dice.roll(most)).expect("fits")
}

fn title(dice: &mut Dice) -> String {
    format!("t{}", dice.roll(9))
}

/// So many minutes and a half ago; ahead if it is negative.
fn ago(now: i64, minutes: i64) -> i64 {
    now - minutes * MINUTE - MINUTE / 2
}

fn fill(site: &Site, dice: &mut Dice) {
    let now = jiff::Timestamp::now().as_millisecond();
    let database = site.database();
    let mut tx = 0;
    for _ in 0..dice.roll(30) {
        tx += 1;
        job(site, &database, dice, now, tx);
    }
    if dice.roll(3) == 0 {
        let minutes = dice.roll(9).cast_signed();
        for number in 0..3 {
            attempt(&database, &id(900 + number), 900, &format!("epub/b{number}.epub"), 1, now);
            let end = "UPDATE attempt SET ended = ?2, result = 'spawn', duration = 1 WHERE id = ?1";
            database.execute(end, params![id(900 + number), ago(now, minutes)]).expect("an end");
        }
    }
    for queue in ["default", "qb", "qc"] {
        let mode = ["open", "open", "open", "open", "paused", "draining"][pick(dice, 6)];
        let served = ago(now, dice.roll(50).cast_signed());
        let row = "INSERT INTO queue (name, mode, served) VALUES (?1, ?2, ?3)
                       ON CONFLICT (name) DO UPDATE SET mode = ?2, served = ?3";
        database.execute(row, params![queue, mode, served]).expect("a queue");
    }
    for schedule in 0..3 {
        if dice.roll(3) > 0 {
            let next = ago(now, dice.roll(14).cast_signed() - 7);
            let row = "INSERT INTO schedule (name, last, next) VALUES (?1, ?2, ?3)";
            database.execute(row, params![format!("s{schedule}"), ago(now, 20), next]).expect("a schedule");
        }
    }
    for _ in 0..dice.roll(8) {
        let title = title(dice);
        file(site, ["epub", "text"][pick(dice, 2)], &title, dice.roll(16));
    }
}

fn file(site: &Site, exporter: &str, title: &str, minutes: u64) {
    let extension = if exporter == "epub" { "epub" } else { "txt" };
    let path = site.cached(&format!("{exporter}/{title}.{extension}"));
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, "x").expect("a file");
    let made = SystemTime::now() - Duration::from_secs(minutes * 60 + 30);
    fs::File::options().write(true).open(&path).expect("a file").set_modified(made).expect("a time");
}

/// An attempt's id.
fn id(number: i64) -> String {
    format!("01AAAAAAAAAAAAAAAAAAAAA{number:03}")
}

fn attempt(database: &Connection, id: &str, job: i64, filename: &str, number: i64, started: i64) {
    let exporter = filename.split('/').next().expect("an exporter");
    let row = "
        INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits)
        VALUES (?1, ?2, ?3, ?4, '{}', 'default', ?5, ?6, ?6, ?6, ?7)";
    database.execute(row, params![id, job, filename, exporter, number, started, LIMITS]).expect("an attempt");
}

fn job(site: &Site, database: &Connection, dice: &mut Dice, now: i64, number: i64) {
    let exporter = ["epub", "epub", "epub", "pdf", "pdf", "text", "text", "sync", "gone", "odd"][pick(dice, 10)];
    // One title in a while is longer than the exporter allows.
    let title = if dice.roll(12) == 0 { format!("long-{}", title(dice)) } else { title(dice) };
    let (home, extension) = match exporter {
        "epub" => ("default", ".epub"),
        "pdf" => ("qb", ".pdf"),
        "text" => ("qc", ".txt"),
        other => (other, ""),
    };
    let filename = format!("{exporter}/{title}{extension}");
    let queue = if dice.roll(10) == 0 { ["default", "qb", "away"][pick(dice, 3)] } else { home };
    let submitted = ago(now, dice.roll(25).cast_signed());
    let attempts = dice.roll(3).saturating_sub(1).cast_signed();
    let (mut waits, mut run_after) = (0, submitted);
    match dice.roll(6) {
        0 => (waits, run_after) = (1, ago(now, -5)),
        1 => (waits, run_after) = (1, ago(now, dice.roll(4).cast_signed() - 2)),
        2 if exporter == "pdf" => waits = 2,
        _ => {}
    }
    let source = (exporter == "pdf").then(|| format!("epub/{title}.epub"));
    // Nobody waits for what nobody makes: the invariant of the rows.
    let made = source.as_ref().is_some_and(|source| {
        let sql = "SELECT EXISTS (SELECT 1 FROM job WHERE filename = ? AND status <= 1)";
        database.query_row(sql, [source], |row| row.get(0)).expect("a look")
    });
    if waits == 2 && !made {
        waits = 0;
    }
    let due = submitted.max(run_after);
    let (priority, client) = (dice.roll(5).cast_signed() - 2, ["a", "b"].get(pick(dice, 4)));
    let row = "
        INSERT OR IGNORE INTO job (filename, exporter, params, queue, priority, client, source, waits, rank, submitted,
                                   run_after, due, queued_since, last_asked, attempts, result)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15)";
    let values = params![
        filename,
        exporter,
        format!(r#"{{"title":"{title}"}}"#),
        queue,
        priority,
        client,
        source,
        waits,
        due / 600_000 - priority + dice.roll(3).cast_signed(),
        submitted,
        run_after,
        due,
        ago(now, dice.roll(20).cast_signed()),
        attempts,
        (attempts > 0).then_some("timeout"),
    ];
    if database.execute(row, values).expect("a job") == 0 {
        return;
    }
    let job = database.last_insert_rowid();
    match dice.roll(8) {
        0 | 1 if waits != 2 => started(site, database, dice, (job, &filename, exporter), attempts + 1, id(number), now),
        2 if waits != 2 => {
            let failed = ago(now, if dice.roll(2) == 0 { 3 } else { 26 * 60 });
            let fail = "UPDATE job SET status = 3, result = 'exit', failed = ?2, waits = 0, reported = 1 WHERE id = ?1";
            database.execute(fail, params![job, failed]).expect("a failure");
        }
        _ => {}
    }
}

/// Its run is dead, and perhaps it has published.
fn started(
    site: &Site,
    database: &Connection,
    dice: &mut Dice,
    (job, filename, exporter): (i64, &str, &str),
    number: i64,
    id: String,
    now: i64,
) {
    let since = ago(now, dice.roll(4).cast_signed());
    attempt(database, &id, job, filename, number, since);
    let cancel = i64::from(dice.roll(6) == 0);
    let again = (dice.roll(5) == 0).then_some(since);
    let start =
        "UPDATE job SET status = 1, started = ?2, attempt = ?3, attempts = ?4, waits = 0, cancel = ?5, again = ?6
                  WHERE id = ?1";
    database.execute(start, params![job, since, id, number, cancel, again]).expect("a start");
    if exporter == "epub" && dice.roll(3) == 0 {
        let work = site.path("s/work").join(id);
        fs::create_dir_all(&work).expect("a directory");
        file(site, "epub", filename.trim_start_matches("epub/").trim_end_matches(".epub"), 0);
        fs::hard_link(site.cached(filename), work.join("out.epub")).expect("a link");
    }
}
