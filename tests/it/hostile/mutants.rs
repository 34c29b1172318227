//! Rows, schemas and files in `queue/`, changed at random by the web user.
//!
//! `PRESSROOM_HOSTILE=10000` tries so many changes, `PRESSROOM_HOSTILE_SEED` repeats a run that has failed.

use std::env;

use super::{EMMA, World, oracle::Oracle, queued};

/// Changes that the suite tries.
const USUAL: u64 = 300;
/// So many are made before the program is run again.
const TOGETHER: u64 = 5;
/// Every so many rounds are looked at by strace.
const TRACED: u64 = 10;

const COLUMNS: [&str; 29] = [
    "filename",
    "exporter",
    "params",
    "queue",
    "priority",
    "client",
    "source",
    "source_after",
    "status",
    "waits",
    "rank",
    "submitted",
    "run_after",
    "queued_since",
    "last_asked",
    "started",
    "failed",
    "attempt",
    "attempts",
    "shutdowns",
    "percent",
    "message",
    "result",
    "limits",
    "again",
    "cancel",
    "reported",
    "waits",
    "status",
];

const ATTEMPT_COLUMNS: [&str; 19] = [
    "id",
    "job",
    "filename",
    "exporter",
    "params",
    "queue",
    "client",
    "number",
    "submitted",
    "started",
    "counts_from",
    "limits",
    "ended",
    "result",
    "duration",
    "exit_code",
    "log_tail",
    "detail",
    "log",
];

const VALUES: [&str; 48] = [
    "NULL",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "253402300800000",
    "1700000000000",
    "1.5",
    "x'00'",
    "x'ff'",
    "CAST(x'ff' AS TEXT)",
    "''",
    "'..'",
    "'.'",
    "'/'",
    "'a/b'",
    "'epub'",
    "'pdf'",
    "'private'",
    "'default'",
    "'narrow'",
    "'nobody'",
    "'../../canary/x'",
    "'../../../../etc/passwd'",
    "'private/payroll.txt'",
    "'epub/../private/payroll.txt'",
    "'epub/Emma.epub'",
    "'/etc/passwd'",
    "'canary/backup'",
    "'01ARZ3NDEKTSV4RRFFQ69G5FAV'",
    "'01ARZ3NDEKTSV4RRFFQ69G5FA/'",
    "'7ZZZZZZZZZZZZZZZZZZZZZZZZZ'",
    "'{}'",
    "'[]'",
    "'{'",
    r#"'{"title":"../../x"}'"#,
    r#"'{"title":"odd","title":"Emma"}'"#,
    r#"'{"title":{"a":[1,{}]}}'"#,
    r#"'{"timeout":null}'"#,
    "printf('%.*c', 400000, '[')",
    "printf('%.*c', 5000000, 'x')",
    "'ok'",
    "'lost'",
];

const LIMITS: &str = r#"'{"timeout":1e9,"kill_after":1e9,"memory_limit":null,"cpu_time_limit":null,"file_size":null,"work_size":null,"open_files":null,"data":null,"address_space":null,"processes":null}'"#;

const TABLES: [&str; 9] = [
    "UPDATE queue SET queued = VALUE",
    "UPDATE queue SET delayed = VALUE",
    "UPDATE queue SET served = VALUE",
    "INSERT OR REPLACE INTO client VALUES ('default', 'odd', VALUE)",
    "UPDATE tally SET count = VALUE",
    "INSERT OR REPLACE INTO schedule VALUES ('odd', VALUE, VALUE)",
    "UPDATE meta SET tick_boottime = VALUE",
    "INSERT OR REPLACE INTO news VALUES (VALUE)",
    "UPDATE tally SET total = VALUE",
];

const SCHEMAS: [&str; 10] = [
    "CREATE TRIGGER odd BEFORE UPDATE OF status ON job BEGIN UPDATE job SET filename = 'private/payroll.txt' WHERE id = new.id; END",
    "CREATE TRIGGER odd AFTER INSERT ON attempt BEGIN UPDATE job SET params = '{}'; END",
    "CREATE VIEW odd AS SELECT * FROM job",
    "ALTER TABLE job RENAME TO other; CREATE VIEW job AS SELECT * FROM other",
    "CREATE INDEX odd ON job (upper(filename))",
    "DROP INDEX job_ready",
    "ALTER TABLE job ADD COLUMN odd TEXT DEFAULT (randomblob(10))",
    "CREATE TABLE odd (a)",
    "PRAGMA user_version = 1",
    "DROP TABLE meta",
];

/// What the web user's shell does in `queue/`; `CANARY` is a private directory of the crontab's user.
const FILES: [&str; 20] = [
    "rm doorbell; ln -s CANARY/backup.log doorbell",
    "rm doorbell; mkdir doorbell",
    "rm doorbell; touch doorbell",
    "rm doorbell",
    "rm reserve; ln -s CANARY/backup.log reserve",
    "rm reserve; mkfifo reserve",
    "rm reserve; mkdir reserve",
    "rm reserve; ln pressroom.db reserve",
    "rm waiters; ln -s CANARY/backup.log waiters",
    "rm waiters; mkfifo waiters",
    "mv pressroom.db-wal w; ln -s CANARY/backup.log pressroom.db-wal",
    "mv pressroom.db-shm w; ln -s CANARY/backup.log pressroom.db-shm",
    "rm pressroom.db-wal; mkfifo pressroom.db-wal",
    "rm pressroom.db-shm; mkdir pressroom.db-shm",
    "mv pressroom.db p; ln -s CANARY/backup.log pressroom.db",
    "mv pressroom.db p; mkfifo pressroom.db",
    "mv pressroom.db p; mkdir pressroom.db",
    "rm pressroom.db",
    "head -c 5000 /dev/urandom >pressroom.db-journal",
    "head -c 3000 /dev/urandom | timeout 2 dd of=pressroom.db bs=1 seek=RANDOM conv=notrunc",
];

/// Numbers that depend on nothing but the seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap_or(0)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }

    fn value(&mut self) -> &'static str {
        if self.roll(20) == 0 { LIMITS } else { self.one(&VALUES) }
    }

    /// One change of rows; those that a person has asked for are left alone.
    fn rows(&mut self, number: u64) -> String {
        let odd = "filename NOT LIKE 'epub/Good%'";
        match self.roll(10) {
            0..=4 => {
                let mut others = Vec::new();
                for _ in 0..=self.roll(3) {
                    others.push((self.one(&COLUMNS), self.value()));
                }
                let exporter = self.one(&["epub", "pdf", "private", "nobody"]);
                queued(&format!("{exporter}/odd{number}.{exporter}"), &others)
            }
            5 | 6 => format!("UPDATE OR IGNORE job SET {} = {} WHERE {odd};", self.one(&COLUMNS), self.value()),
            7 => format!("UPDATE OR IGNORE attempt SET {} = {} WHERE {odd};", self.one(&ATTEMPT_COLUMNS), self.value()),
            8 => format!("{};", self.one(&TABLES).replace("VALUE", self.value())),
            _ => {
                let attempt = self.value();
                let now = jiff::Timestamp::now().as_millisecond().to_string();
                let others = [("status", "1"), ("started", &*now), ("attempts", "1"), ("attempt", attempt)];
                queued(&format!("epub/gone{number}.epub"), &others)
            }
        }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn whatever_lies_in_the_queue_nothing_beyond_the_rules_happens_and_healthy_jobs_are_made() {
    let now = jiff::Timestamp::now().as_nanosecond().unsigned_abs();
    let seed = number("PRESSROOM_HOSTILE_SEED", u64::try_from(now % u128::from(u64::MAX)).unwrap_or(0));
    let many = number("PRESSROOM_HOSTILE", USUAL);
    println!("PRESSROOM_HOSTILE={many} PRESSROOM_HOSTILE_SEED={seed}");
    let world = World::new();
    let oracle = Oracle::watch(&world);
    world.web("request private").exits(75);
    world.settle();
    let mut dice = Dice(seed);
    for round in 0..many.div_ceil(TOGETHER) {
        let what = change(&world, &mut dice, round);
        let words = dice.one(&[
            "tick --wait",
            "tick --wait",
            "tick --wait",
            "tick --wait",
            "tick --dry-run",
            "jobs list",
            "status",
            "check",
        ]);
        look(&world, &oracle, round, words, &what);
        oracle.is_content(&format!("{what}, {words} (seed {seed})"));
        repair(&world);
    }
    finish(&world, many.div_ceil(TOGETHER));
}

/// Some changes of rows, or one of the schema or of a file, which is undone afterwards.
fn change(world: &World, dice: &mut Dice, round: u64) -> String {
    let ask = format!("request epub title=Good{round}");
    if world.web(&ask).output.status.code() != Some(75) {
        // A count that the web user has raised keeps its own requests out, until the next tick counts anew.
        world.cron("tick --wait").exits(0);
        world.web(&ask).exits(75);
    }
    keep(world);
    let what = match dice.roll(6) {
        0 => (0..TOGETHER).map(|_| dice.one(&SCHEMAS)).collect::<Vec<_>>().join(";") + ";",
        1 => {
            let canary = world.site.path("canary").display().to_string();
            let random = dice.roll(20_000).to_string();
            let lines: Vec<_> =
                (0..TOGETHER).map(|_| dice.one(&FILES).replace("CANARY", &canary).replace("RANDOM", &random)).collect();
            let line = format!("({}) 2>/dev/null; true", lines.join("; "));
            world.shell(&line);
            std::fs::write(world.site.path("changed"), "").unwrap();
            return line;
        }
        _ => (0..TOGETHER).map(|step| dice.rows(round * TOGETHER + step)).collect(),
    };
    // A statement that fails leaves the others: they are tried one by one.
    for statement in what.split(";\n") {
        world.try_sql(statement);
    }
    if SCHEMAS.iter().any(|schema| what.contains(schema)) {
        std::fs::write(world.site.path("changed"), "").unwrap();
    }
    what
}

#[track_caller]
fn look(world: &World, oracle: &Oracle, round: u64, words: &str, what: &str) {
    if round.is_multiple_of(TRACED) && world.program.is_some() {
        return oracle.strace(world, words);
    }
    let done = world.cron(words);
    let fine = matches!(done.output.status.code(), Some(0 | 1 | 2 | 69 | 74 | 78)) && !done.err().contains("panicked");
    assert!(fine, "{words} after {what}: {:?} {}", done.output.status, done.err());
}

/// The files of `queue/` as they are now.
fn keep(world: &World) {
    shell(world, "rm -rf keep changed && cp -a s/queue keep");
}

/// Undoes what no command of ours can undo: a foreign schema, a file in the wrong place.
fn repair(world: &World) {
    if world.site.path("changed").exists() {
        shell(world, "rm -rf s/queue && cp -a keep s/queue");
    }
}

fn shell(world: &World, line: &str) {
    let done = std::process::Command::new("sh").args(["-c", line]).current_dir(world.site.dir()).status();
    assert!(done.unwrap().success(), "{line}");
}

#[track_caller]
fn finish(world: &World, rounds: u64) {
    crate::support::site::wait_until("every healthy job is made", || {
        world.cron("tick --wait").exits(0);
        world.site.count("SELECT count(*) FROM job WHERE filename LIKE 'epub/Good%' AND status <= 1") == 0
    });
    for round in 0..rounds {
        let (title, text) = (format!("Good{round}"), world.text(&format!("s/cache/epub/Good{round}.epub")));
        assert_eq!(text, EMMA.replace("Emma", &title), "{title}");
    }
    assert_eq!(world.text("s/cache/private/payroll.txt"), "payroll\n");
    for name in world.site.names("s/cache/epub") {
        let text = world.text(&format!("s/cache/epub/{name}"));
        let limits: Vec<u64> = text.lines().skip(1).filter_map(|line| line.parse().ok()).collect();
        let within = matches!(limits[..], [cpu, size, files] if cpu <= 201 && size <= 78_125 && files == 100);
        assert!(within, "{name} was made under other limits than it may have: {text}");
    }
}
