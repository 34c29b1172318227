use std::os::unix::fs::symlink;

use super::*;

const TTL: Duration = Duration::from_mins(10);
const GRACE: Duration = Duration::from_mins(2);

fn choice(entries: &[CacheEntry], max_size: u64) -> Chosen {
    choose(entries, |_| (Some(TTL), Duration::ZERO), GRACE, max_size, NOW, |_| false)
}

fn chosen(entries: &[CacheEntry], max_size: u64) -> Vec<String> {
    let choice = choice(entries, max_size);
    let expired = choice.expired.into_iter().map(|(entry, _)| entry);
    choice.gone.into_iter().chain(expired).map(|entry| entry.filename).collect()
}

#[test]
fn only_regular_files_with_our_names_are_scanned() {
    let world = World::new();
    let mine = world.aged("epub/Emma.epub", 0);
    let dir = world.cache.path("epub");
    symlink("/etc/passwd", dir.join("link.epub")).unwrap();
    nix::unistd::mkfifo(&dir.join("fifo.epub"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir(dir.join("dir.epub")).unwrap();
    fs::write(dir.join(".hidden"), "").unwrap();
    symlink("/etc", world.cache.path("etc")).unwrap();
    fs::write(world.cache.path("stray"), "").unwrap();
    fs::create_dir(world.cache.path("Not-Ours")).unwrap();
    fs::write(world.cache.path("Not-Ours/file.epub"), "").unwrap();
    assert_eq!(world.scan(), [mine]);
}

#[test]
fn a_cache_that_cannot_be_read_is_a_problem_and_no_panic() {
    let cache = Cache::new("/nonexistent/cache".into());
    let mut problems = Vec::new();
    assert_eq!(cache.scan(&mut problems), []);
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn expired_files_go_after_grace_and_not_before() {
    let world = World::new();
    world.aged("epub/gone.epub", 720);
    world.aged("epub/promised.epub", 719);
    assert_eq!(chosen(&world.scan(), u64::MAX), ["epub/gone.epub"]);
}

#[test]
fn beyond_max_size_the_oldest_go_first_but_none_within_grace() {
    let world = World::new();
    for (name, age) in [("a", 300), ("b", 500), ("c", 121), ("d", 119), ("e", 0)] {
        world.aged(&format!("epub/{name}.epub"), age);
    }
    let entries = world.scan(); // four bytes each
    assert_eq!(chosen(&entries, 20), [""; 0]);
    assert_eq!(chosen(&entries, 15), ["epub/b.epub", "epub/a.epub"]);
    assert_eq!(chosen(&entries, 0), ["epub/b.epub", "epub/a.epub", "epub/c.epub"]);
}

#[test]
fn what_expires_for_its_size_is_not_served_any_more_and_goes_after_grace() {
    let world = World::new();
    let entry = world.aged("epub/a.epub", 300);
    let expired = choice(&world.scan(), 0).expired;
    assert_eq!(expired, [(entry.clone(), Some(NOW.minus(TTL)))]);
    assert!(world.cache.expire(&entry, expired[0].1).unwrap());
    assert!(!world.cache.expire(&entry, expired[0].1).unwrap(), "it is not the file that was scanned");
    let after = choice(&world.scan(), 0);
    assert_eq!(after, Chosen::default(), "it leaves, and nothing goes in its place");
}

#[test]
fn a_file_is_unlinked_once_and_its_absence_is_no_error() {
    let world = World::new();
    let entry = world.aged("epub/Emma.epub", 800);
    assert!(world.cache.remove(&entry).unwrap());
    assert!(!world.cache.remove(&entry).unwrap());
    fs::remove_dir(world.cache.path("epub")).unwrap();
    assert!(!world.cache.remove(&entry).unwrap());
}

#[test]
fn a_file_that_was_replaced_or_touched_since_the_scan_stays() {
    let world = World::new();
    let entry = world.aged("epub/Emma.epub", 800);
    world.publish("epub/Emma.epub", "newer");
    assert!(!world.cache.remove(&entry).unwrap());
    let entry = world.aged("epub/Emma.epub", 800);
    world.cache.age("epub/Emma.epub", NOW).unwrap();
    assert!(!world.cache.remove(&entry).unwrap());
    assert!(world.cache.look("epub/Emma.epub").unwrap().is_some());
}

#[test]
fn nothing_is_removed_or_aged_through_a_link() {
    let world = World::new();
    let entry = world.aged("epub/Emma.epub", 800);
    let moved = world.dir.path().join("moved");
    fs::rename(world.cache.path("epub"), &moved).unwrap();
    symlink(&moved, world.cache.path("epub")).unwrap();
    assert!(!world.cache.remove(&entry).unwrap());
    assert!(!world.cache.age("epub/Emma.epub", NOW).unwrap());
    assert!(moved.join("Emma.epub").exists());
}

#[test]
fn a_reader_who_opened_the_file_reads_it_to_the_end() {
    let world = World::new();
    let entry = world.aged("epub/Emma.epub", 800);
    let (file, _) = world.cache.open("epub/Emma.epub").unwrap().unwrap();
    assert!(world.cache.remove(&entry).unwrap());
    assert_eq!(std::io::read_to_string(file).unwrap(), "text");
}

#[test]
fn a_file_from_the_future_is_set_back_and_one_of_the_next_minute_is_not() {
    let world = World::new();
    world.aged("epub/future.epub", 0);
    world.cache.age("epub/future.epub", NOW.plus_ms(60_001)).unwrap();
    world.aged("epub/soon.epub", 0);
    world.cache.age("epub/soon.epub", NOW.plus_ms(60_000)).unwrap();
    let mut entries = world.scan();
    assert_eq!(world.cache.heal(&mut entries, NOW, None, &mut Vec::new()), 1);
    assert_eq!(entries, world.scan());
    assert_eq!(entries.iter().map(|entry| entry.made).collect::<Vec<_>>(), [NOW, NOW.plus_ms(60_000)]);
}

#[test]
fn a_thousand_files_of_two_exporters_are_scanned() {
    let world = World::new();
    for exporter in ["epub", "pdf"] {
        world.publish(&format!("{exporter}/file.x"), "text");
        for number in 1..500 {
            let name = world.cache.path(&format!("{exporter}/{number}.x"));
            fs::hard_link(world.cache.path(&format!("{exporter}/file.x")), name).unwrap();
        }
    }
    assert_eq!(world.scan().len(), 1000);
}
