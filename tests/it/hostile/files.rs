//! Files that the web user has put into `queue/`.

use std::{fs, os::unix::fs::MetadataExt};

use super::{EMMA, World, oracle::Oracle};
use crate::support::{site::Site, together::Paused};

/// Something of every kind in the place of each file, and what the web user has then of it.
const LIES: [(&str, &str); 8] = [
    ("reserve", "rm -f reserve; ln -s ../../canary/backup.log reserve"),
    ("reserve", "rm -rf reserve; printf precious >other; ln other reserve"),
    ("reserve", "rm -rf reserve; mkfifo reserve"),
    ("reserve", "rm -rf reserve; mkdir reserve"),
    ("doorbell", "rm -rf doorbell; ln -s ../../canary/backup.log doorbell"),
    ("doorbell", "rm -rf doorbell; mkdir doorbell"),
    ("waiters", "rm -rf waiters; ln -s ../../canary/backup.log waiters"),
    ("waiters", "rm -rf waiters; mkfifo waiters"),
];

#[test]
fn a_link_a_fifo_or_a_directory_in_the_place_of_a_file_costs_no_export_and_is_named_by_check() {
    let world = World::new();
    let oracle = Oracle::watch(&world);
    for (number, (file, line)) in LIES.iter().enumerate() {
        world.shell(line);
        world.web(&format!("request epub title=Emma{number}")).exits(75);
        world.cron("tick --wait").exits(0);
        world.cron("tick --wait --for 1s").exits(0);
        assert_eq!(
            world.text(&format!("s/cache/epub/Emma{number}.epub")),
            EMMA.replace("Emma", &format!("Emma{number}"))
        );
        assert!(!line.contains("precious") || world.text("s/queue/other") == "precious", "{line}");
        oracle.is_content(line);
        if !line.contains("precious") {
            world.cron("check").exits(78).warns(&format!("queue/{file}"));
        }
        world.shell(&format!("rm -rf {file} other"));
        world.cron("check --create").exits(0);
        world.cron("check").exits(0);
    }
}

/// SQLite undoes what such a file says, and then removes the file that it names in the end.
fn journal(names: &str, pages: u32) -> Vec<u8> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut text = MAGIC.to_vec();
    for number in [0, 0, pages, 512, 4096] {
        text.extend(u32::to_be_bytes(number));
    }
    text.resize(512, 0);
    text.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    text.extend(names.as_bytes());
    text.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
    text.extend(names.bytes().map(u32::from).sum::<u32>().to_be_bytes());
    text.extend(MAGIC);
    text
}

#[test]
fn a_planted_journal_of_the_database_removes_no_file() {
    let world = World::new();
    let oracle = Oracle::watch(&world);
    world.web("request epub title=Emma").exits(75);
    let (key, database) = (world.site.path("canary/private/.ssh/id_ed25519"), world.site.path("s/queue/pressroom.db"));
    let pages = u32::try_from(fs::metadata(&database).unwrap().size() / 4096).unwrap();
    let planted = world.site.path("s/queue/pressroom.db-journal");
    for words in ["tick --wait", "check", "jobs list", "status", "tick --dry-run", "check --create"] {
        fs::write(&planted, journal(key.to_str().unwrap(), pages)).unwrap();
        fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        let done = world.cron(words);
        let said = format!("{}{}", done.out(), done.err());
        assert!(said.contains("pressroom.db-journal"), "{words}: {said}");
        oracle.is_content(words);
    }
    fs::remove_file(&planted).unwrap();
    world.settle();
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
}

/// The look before the opening is no protection: the journal comes a moment later.
#[test]
fn a_journal_that_is_planted_while_the_database_is_opened_removes_no_file() {
    let site = Site::new().create();
    let key = site.path("id_ed25519");
    for (number, words) in
        [&["tick", "--allow-root"][..], &["jobs", "list"], &["request", "epub", "title=Emma"]].iter().enumerate()
    {
        fs::write(&key, "secret").unwrap();
        site.ask("Nana");
        let pages = u32::try_from(fs::metadata(site.path("s/queue/pressroom.db")).unwrap().size() / 4096).unwrap();
        let text = journal(key.to_str().unwrap(), pages);
        if number < 2 {
            let paused = Paused::at(&site, "store-looked", words);
            fs::write(site.path("s/queue/pressroom.db-journal"), &text).unwrap();
            paused.go_on();
        } else {
            fs::write(site.path("s/queue/pressroom.db-journal"), &text).unwrap();
            site.run(words);
        }
        assert!(key.exists(), "{words:?} removed it");
        for name in ["s/queue/pressroom.db-journal", "gate-store-looked", "gate-store-looked.reached"] {
            let _ = fs::remove_file(site.path(name));
        }
    }
}

#[test]
fn a_database_with_a_second_name_is_not_written_to() {
    let world = World::new();
    for name in ["pressroom.db", "pressroom.db-wal", "pressroom.db-shm"] {
        world.web("request epub title=Emma");
        world.shell(&format!("ln {name} other"));
        world.cron("tick --wait").warns(&format!("{name} has another name"));
        world.shell("rm other");
    }
    world.settle();
    assert_eq!(world.text("s/cache/epub/Emma.epub"), EMMA);
}
