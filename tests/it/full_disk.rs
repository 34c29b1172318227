//! A full disk: hits are served, requests are unavailable, tick runs and prune frees space, and then all goes on.

use std::{fs, io::Write, path::PathBuf, process::Command};

use crate::support::{
    site::Site,
    together::{Paused, TICK},
};

/// A small file system of its own, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`: it cannot be mounted here, which is told as a skip.
    fn mount(test: &str, dir: PathBuf) -> Option<Self> {
        fs::create_dir(&dir).expect("a directory");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=12m,mode=755", "pressroom-test"]).arg(&dir).output();
        if mounted.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        crate::support::outside::skipped(test, "cannot mount a tmpfs (needs root)");
        None
    }

    /// One of another kind, of so many MiB, in a file.
    fn mount_image(test: &str, site: &Site, size: u64, mkfs: &[&str]) -> Option<Self> {
        let (dir, image) = (site.path("disk"), site.path("image"));
        fs::create_dir(&dir).expect("a directory");
        fs::File::create(&image).and_then(|file| file.set_len(size << 20)).expect("an image");
        let ran = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let made = ran(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image));
        if made && ran(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&dir)) {
            return Some(Self(dir));
        }
        crate::support::outside::skipped(
            test,
            &format!("cannot make and mount a file system by {} (needs root and a loop device)", mkfs[0]),
        );
        None
    }

    /// Fills it to the last block.
    fn fill(&self, name: &str) {
        let mut file = fs::File::create(self.0.join(name)).expect("a file");
        for size in [1 << 20, 4096, 1] {
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
        }
    }

    fn free(&self) -> u64 {
        let about = nix::sys::statvfs::statvfs(&self.0).expect("the disk");
        about.blocks_available() * about.fragment_size()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn head(min_free: &str) -> String {
    format!("state_dir = \"disk/s\"\n[cache]\nmin_free = \"{min_free}\"\n[host]\nmin_free_memory = \"0B\"\n")
}

fn site(test: &str) -> Option<(Site, SmallDisk)> {
    let site = Site::new().head(&head("0B"));
    let disk = SmallDisk::mount(test, site.path("disk"))?;
    Some((site.create(), disk))
}

fn database(site: &Site) -> rusqlite::Connection {
    rusqlite::Connection::open(site.path("disk/s/queue/pressroom.db")).expect("the database")
}

fn jobs(site: &Site) -> i64 {
    database(site).query_row("SELECT count(*) FROM job", [], |row| row.get(0)).expect("a count")
}

/// The log of the database has some room of its own; when it is used up, a request says so and is no error.
#[track_caller]
fn until_unavailable(site: &Site) {
    for number in 0..500 {
        let done = site.ask(&format!("book{number}"));
        if done.output.status.code() == Some(69) {
            return;
        }
        done.exits(75).stderr("");
    }
    panic!("500 jobs were queued on a full disk");
}

#[test]
fn a_full_disk_serves_what_is_there_and_recovers_by_itself() {
    let Some((site, disk)) = site("a_full_disk_serves_what_is_there_and_recovers_by_itself") else { return };
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.ask("Waiting").exits(75);
    // An old book of three megabytes, and then nothing is left.
    let old = site.path("disk/s/cache/epub/Old.epub");
    fs::write(&old, vec![b'x'; 3 << 20]).unwrap();
    disk.fill("junk");
    assert_eq!(disk.free(), 0);
    site.ask("Emma").exits(0).says("ready ").stderr("");
    site.ask("Waiting").exits(75).stdout("queued 1\n");
    until_unavailable(&site);
    site.ask("Nana").exits(69).stdout("unavailable the disk is full\n").stderr("");
    let site = site.head(&head("2MB"));
    site.ask("Nana").exits(69).stdout("unavailable the server is low on disk space\n").stderr("");
    let answer = site.run(&["request", "epub", "title=Nana", "--format", "json"]).exits(69).json();
    assert_eq!(answer["state"], "unavailable");
    site.run(&["tick", "--dry-run", "--allow-root"]).exits(0).says("): less disk space is free than min_free");
    // A tick on it runs to its end, and frees the reserve for the ticks to come.
    site.tick().exits(0).stdout("");
    assert_eq!(fs::metadata(site.path("disk/s/queue/reserve")).unwrap().len(), 0);
    assert!(site.path("disk/s/cache/epub/Emma.epub").exists());
    // Prune frees what has had its time, with what the reserve gave.
    fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(std::time::SystemTime::now() - std::time::Duration::from_mins(15))
        .unwrap();
    site.tick().exits(0).stdout("");
    assert!(!old.exists());
    assert!(disk.free() > 1 << 20);
    database(&site).execute("DELETE FROM job WHERE filename LIKE 'epub/book%'", []).unwrap();
    site.ask("Nana").exits(75).says("queued ");
    crate::support::site::wait_until("both books are made", || {
        site.tick().exits(0);
        jobs(&site) == 0
    });
    site.ask("Nana").exits(0);
    site.ask("Waiting").exits(0);
    fs::remove_file(site.path("disk/junk")).unwrap();
    site.tick().exits(0).stderr("");
    assert_eq!(fs::metadata(site.path("disk/s/queue/reserve")).unwrap().len(), 1 << 20, "the reserve is taken back");
}

/// An exporter that fills the disk and claims success is not believed.
#[test]
fn an_export_that_fills_the_disk_fails_and_says_why() {
    let Some((site, disk)) = site("an_export_that_fills_the_disk_fails_and_says_why") else { return };
    let site = site.exporter(r#"dd if=/dev/zero of="$1" bs=64k count=1000 2>/dev/null; exit 0"#);
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    site.ask("Emma").exits(70);
    site.mailed().exits(0).warns("epub/Emma.epub) failed: no_output").warns("disk is full");
    assert!(disk.free() > 4 << 20, "its work directory is swept");
    assert!(site.names("disk/s/cache/epub").is_empty(), "nothing cut is published");
}

/// The note in its lock file has a block from the run's start on; here that is lost, and there is no other.
#[test]
fn an_exporter_that_cannot_be_noted_is_never_executed_and_its_job_goes_back() {
    let Some((site, disk)) = site("an_exporter_that_cannot_be_noted_is_never_executed_and_its_job_goes_back") else {
        return;
    };
    let runs = site.path("runs");
    let site = site.exporter(&format!("echo run >>{}; echo whole >\"$1\"", runs.display()));
    site.ask("Emma").exits(75);
    let tick = Paused::at(&site, "run-forked", &TICK);
    let attempt: String = database(&site).query_row("SELECT attempt FROM job", [], |row| row.get(0)).unwrap();
    fs::write(site.path("disk/s/work").join(format!("{attempt}.lock")), "").unwrap();
    disk.fill("junk");
    let tick = tick.go_on();
    tick.exits(0).stdout("");
    assert!(!runs.exists(), "it was executed");
    fs::remove_file(site.path("disk/junk")).unwrap();
    // That is the machine's failure and no attempt: the job is queued again, and made now.
    site.tick().exits(0);
    site.tick().exits(0);
    assert_eq!(site.names("disk/s/work"), [""; 0]);
    let results = "SELECT group_concat(result || number) FROM attempt";
    let results: String = database(&site).query_row(results, [], |row| row.get(0)).unwrap();
    assert_eq!(results, "ok1");
    site.ask("Emma").exits(0);
}

/// A disk that was filled before the first write of a tick.
#[test]
fn a_tick_on_a_full_disk_reaps_and_prunes_first() {
    let Some((site, disk)) = site("a_tick_on_a_full_disk_reaps_and_prunes_first") else { return };
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let file = site.path("disk/s/cache/epub/Emma.epub");
    fs::File::open(&file)
        .unwrap()
        .set_modified(std::time::SystemTime::now() - std::time::Duration::from_mins(15))
        .unwrap();
    disk.fill("junk");
    site.tick().exits(0).stdout("");
    assert!(!file.exists(), "pruning needs no space");
}

fn old(file: &std::path::Path) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_mins(15);
    fs::File::options().write(true).open(file).unwrap().set_modified(then).unwrap();
}

/// Neither the index of the log nor the log is there, the reserve is gone, and not a byte is free.
#[test]
fn a_disk_on_which_the_database_cannot_be_opened_is_pruned_all_the_same() {
    let Some((site, disk)) = site("a_disk_on_which_the_database_cannot_be_opened_is_pruned_all_the_same") else {
        return;
    };
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr(""); // sweeps the work directory, in which the file has another name
    let file = site.path("disk/s/cache/epub/Emma.epub");
    fs::write(&file, vec![b'x'; 3 << 20]).unwrap();
    old(&file);
    for name in ["pressroom.db-wal", "pressroom.db-shm", "reserve"] {
        fs::remove_file(site.path("disk/s/queue").join(name)).unwrap();
    }
    disk.fill("junk");
    site.ask("Nana").exits(69).stdout("unavailable the disk is full\n");
    site.tick().exits(0).stdout("");
    assert!(!file.exists(), "what frees space needs none");
    site.ask("Nana").exits(75);
}

/// More than ten minutes on a full disk: that a round has been cannot be written into the database, and each one after
/// it would be the first after a silence.
#[test]
fn a_disk_that_stays_full_is_pruned_when_its_files_have_expired() {
    let Some((site, disk)) = site("a_disk_that_stays_full_is_pruned_when_its_files_have_expired") else { return };
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    let file = site.path("disk/s/cache/epub/Emma.epub");
    disk.fill("junk");
    until_unavailable(&site);
    let stuck = database(&site);
    stuck.execute_batch("BEGIN; SELECT count(*) FROM job").unwrap(); // so that the log cannot start anew
    for minutes in [11, 12, 13] {
        let mark = fs::read_to_string(site.path("disk/s/tick.lock")).unwrap();
        let (before, _) = mark.rsplit_once("boot ").unwrap();
        fs::write(site.path("disk/s/tick.lock"), format!("{before}boot {:36}\n", "an earlier one")).unwrap();
        site.clock(60.0 * f64::from(minutes));
        site.tick().exits(0).stdout("");
        assert_eq!(file.exists(), minutes < 12, "after {minutes} minutes");
    }
}

/// There an allocated page of the log's index may have no block behind it, and touching it would end the process.
#[test]
fn a_full_disk_with_small_blocks_ends_no_process() {
    let test = "a_full_disk_with_small_blocks_ends_no_process";
    let site = Site::new().head(&head("0B"));
    // Several blocks make a page of memory.
    let mkfs = ["mkfs.ext4", "-q", "-b", "1024", "-m", "0"];
    let Some(disk) = SmallDisk::mount_image(test, &site, 16, &mkfs) else { return };
    let site = site.create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    let file = site.path("disk/s/cache/epub/Emma.epub");
    fs::write(&file, vec![b'x'; 3 << 20]).unwrap();
    for name in ["pressroom.db-shm", "reserve"] {
        fs::remove_file(site.path("disk/s/queue").join(name)).unwrap();
    }
    // Room for the last block of each page of the index, and not for the rest of it.
    fs::write(site.path("disk/room"), vec![b'x'; 14 << 10]).unwrap();
    disk.fill("junk");
    fs::remove_file(site.path("disk/room")).unwrap();
    site.ask("Nana").exits(69).stdout("unavailable the disk is full\n");
    site.run(&["tick", "--allow-root"]).exits(74);
    old(&file);
    site.tick().exits(0).stdout("");
    assert!(!file.exists());
}

/// Logs of attempts that have ended, each of 64 KiB on the disk, and their rows.
fn logs(site: &Site, count: u32, result: &str, offset: u32) {
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO attempt (id, job, filename, exporter, params, queue, number, submitted, started, counts_from, limits,
                              ended, result, duration, log_size, row_size)
         SELECT printf('%026d', i + {offset}), 1, 'epub/x.epub', 'epub', '{{}}', 'default', 2, 1, 1, 1, json(?1),
                strftime('%s', 'now') * 1000 - 60000 + i, '{result}', 1, 65536, 600 FROM n"
    );
    database(site).execute(&sql, [crate::support::site::LIMITS]).unwrap();
    for number in 1..=count {
        fs::write(site.path(&format!("disk/s/log/{:026}.log", number + offset)), vec![b'x'; 65536]).unwrap();
    }
}

/// Of each kind: rows and logs.
fn kept(site: &Site, result: &str, digit: char) -> (i64, usize) {
    let sql = format!("SELECT count(*) FROM attempt WHERE result = '{result}'");
    let rows = database(site).query_row(&sql, [], |row| row.get(0)).unwrap();
    let logs = site.names("disk/s/log");
    (rows, logs.iter().filter(|name| name.starts_with(&format!("{digit:0>23}"))).count())
}

#[test]
fn a_disk_that_runs_low_gets_back_what_logs_and_history_have_before_a_request_is_refused() {
    let test = "a_disk_that_runs_low_gets_back_what_logs_and_history_have_before_a_request_is_refused";
    let Some((site, disk)) = site(test) else { return };
    site.tick().exits(0).stderr("");
    logs(&site, 30, "ok", 1000);
    logs(&site, 30, "exit", 2000);
    let site = site.head(&head("3MB"));
    let fill = |free: u64| {
        let _ = fs::remove_file(disk.0.join("junk"));
        fs::write(disk.0.join("junk"), vec![b'x'; usize::try_from(disk.free() - free).unwrap()]).unwrap();
    };
    fill(2_500_000);
    site.ask("Emma").exits(69).says("low on disk space");
    site.tick().exits(0).stderr("");
    assert!(disk.free() >= 3_000_000, "{}", disk.free());
    site.ask("Emma").exits(75);
    let (rows, logs) = kept(&site, "ok", '1');
    assert!(rows == 30 && (1..30).contains(&logs), "no more goes than has to: {rows} rows, {logs} logs");
    assert_eq!(kept(&site, "exit", '2'), (30, 30));
    site.tick().exits(0).stderr("");
    // To the last block: what frees space does not need any.
    disk.fill("more junk");
    site.tick().exits(0).stdout("");
    assert_eq!(kept(&site, "ok", '1'), (0, 0));
    let (rows, logs) = kept(&site, "exit", '2');
    assert!(rows < 30 && logs < 30, "{rows} rows, {logs} logs");
    assert!(disk.free() > 1 << 20);
}

/// There each write takes a block, also one into a file that has its blocks already.
#[test]
fn a_full_disk_that_copies_on_write_ends_no_process() {
    let test = "a_full_disk_that_copies_on_write_ends_no_process";
    let site = Site::new().head(&head("0B"));
    let Some(disk) = SmallDisk::mount_image(test, &site, 120, &["mkfs.btrfs", "-q"]) else { return };
    let site = site.create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    let file = site.path("disk/s/cache/epub/Emma.epub");
    fs::write(&file, vec![b'x'; 3 << 20]).unwrap();
    old(&file);
    nix::unistd::syncfs(fs::File::open(&disk.0).unwrap()).unwrap();
    for number in 0..20 {
        disk.fill(&format!("junk{number}"));
    }
    site.ask("Nana").exits(69).stdout("unavailable the disk is full\n");
    site.run(&["status"]).exits(2);
    crate::support::site::wait_until("what has expired is pruned, and books are taken again", || {
        let tick = site.run(&["tick", "--allow-root"]);
        assert!([Some(0), Some(74)].contains(&tick.output.status.code()), "{}", tick.err());
        [Some(0), Some(75)].contains(&site.ask("Nana").output.status.code())
    });
    assert!(!file.exists());
}
