//! `docs/examples/archive`: thumbnails, OCR, an index and mail.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::support::{
    classes::{attempts, request, run_all},
    outside::has,
    site::Site,
};

/// The letters of HOTEL, as drawn points: what OCR reads must not depend on the fonts of a machine.
const LETTERS: [[&str; 7]; 5] = [
    ["10001", "10001", "10001", "11111", "10001", "10001", "10001"],
    ["01110", "10001", "10001", "10001", "10001", "10001", "01110"],
    ["11111", "00100", "00100", "00100", "00100", "00100", "00100"],
    ["11111", "10000", "10000", "11110", "10000", "10000", "11111"],
    ["10000", "10000", "10000", "10000", "10000", "10000", "11111"],
];
const SCALE: usize = 10;

/// A bitmap in the format PBM: its header and a digit for each point.
fn bitmap() -> String {
    let row = |row: usize| ["0000", &LETTERS.map(|letter| letter[row]).join("00"), "0000"].concat();
    let wide = |row: String| row.chars().map(|point| point.to_string().repeat(SCALE)).collect::<String>();
    let rows: Vec<String> = (0..7).flat_map(|number| vec![wide(row(number)); SCALE]).collect();
    let blank = vec!["0".repeat(rows[0].len()); 6 * SCALE];
    let all = [&blank[..], &rows, &blank].concat();
    format!("P1\n{} {}\n{}\n", rows[0].len(), all.len(), all.join("\n"))
}

fn site() -> Site {
    let site = Site::example("archive");
    let sendmail = site.path("sendmail").display().to_string();
    fs::create_dir_all(site.path("srv/archive/scans")).unwrap();
    fs::create_dir_all(site.path("srv/archive/outbox")).unwrap();
    // The mail system of the machine is none of a test's business: a copy of the script calls a stand-in.
    let script = fs::read_to_string(site.path("bin/send")).unwrap().replace("/usr/sbin/sendmail", &sendmail);
    program(&site, "send", &script);
    let send = site.path("send").display().to_string();
    site.replacing("bin/send", &send).create()
}

fn program(site: &Site, name: &str, text: &str) {
    fs::write(site.path(name), text).unwrap();
    fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn scan(site: &Site, name: &str) {
    fs::write(site.path("scan.pbm"), bitmap()).unwrap();
    let png = site.path(&format!("srv/archive/scans/{name}.png"));
    let done = Command::new("convert").arg(site.path("scan.pbm")).arg(png).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// The bytes of a ready file.
#[track_caller]
fn made(site: &Site, words: &str) -> Vec<u8> {
    let answer = request(site, words).exits(0).out();
    fs::read(answer.trim_end().strip_prefix("ready ").expect("ready")).expect("the file")
}

#[test]
fn the_archive_reads_its_scans_and_makes_thumbnails_of_them() {
    let test = "the_archive_reads_its_scans_and_makes_thumbnails_of_them";
    if !["convert", "tesseract"].into_iter().all(|program| has(test, program)) {
        return;
    }
    let site = site();
    scan(&site, "p-1913-07");
    let night = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(9)).to_string();
    request(&site, &format!("text scan=p-1913-07 --priority -5 --not-before {night}")).exits(75);
    request(&site, "thumbnail scan=p-1913-07 --client reader").exits(75).stdout("queued 1\n");
    run_all(&site);
    request(&site, "thumbnail scan=p-1913-07").exits(0);
    assert_eq!(attempts(&site, "text"), 0, "it is not night yet");
    request(&site, "text scan=p-1913-07").exits(75).stdout("queued 1\n"); // a reader need not wait for the night
    run_all(&site);
    assert_eq!(String::from_utf8(made(&site, "text scan=p-1913-07")).unwrap().trim(), "HOTEL");
    assert!(made(&site, "thumbnail scan=p-1913-07").starts_with(&[0xff, 0xd8, 0xff]));
}

#[test]
fn a_page_that_does_not_exist_is_bad_input_and_says_so() {
    let site = site();
    request(&site, "text scan=none").exits(75);
    run_all(&site);
    request(&site, "text scan=none").exits(70).stdout("failed_unknown There is no such page.\n");
}

#[test]
fn the_index_is_made_by_its_schedule_and_by_whoever_asks() {
    let site = site();
    let index = || fs::read_to_string(site.path("srv/archive/index.tsv")).unwrap();
    run_all(&site);
    assert_eq!(index(), "");
    fs::write(site.path("srv/archive/scans/p-1.png"), "scan").unwrap();
    request(&site, "reindex scope=all").exits(75);
    run_all(&site);
    assert_eq!(index(), "p-1.png\t4\n");
    fs::write(site.path("srv/archive/scans/p-2.png"), "scans").unwrap();
    site.clock(301.0);
    run_all(&site);
    assert_eq!(index(), "p-1.png\t4\np-2.png\t5\n");
}

#[test]
fn mail_is_sent_once_and_tried_again_while_the_mail_system_says_later() {
    let site = site();
    let message = "To: reader@example.org\n\nYour page has been read.\n";
    fs::write(site.path("srv/archive/outbox/m1.eml"), message).unwrap();
    program(&site, "sendmail", "#!/bin/sh\nexit 75\n");
    request(&site, "mail message=m1").exits(75);
    run_all(&site);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE attempts = 1 AND waits = 1"), 1);
    program(&site, "sendmail", &format!("#!/bin/sh\ncat >>{}\n", site.path("sent").display()));
    site.clock(160.0);
    run_all(&site);
    run_all(&site);
    assert_eq!(fs::read_to_string(site.path("sent")).unwrap(), message);
    assert_eq!(site.count("SELECT count(*) FROM job WHERE exporter = 'mail'"), 0);
    request(&site, "mail message=m1").exits(75);
    run_all(&site);
    assert_eq!(fs::read_to_string(site.path("sent")).unwrap(), message, "it is not sent twice");
}
