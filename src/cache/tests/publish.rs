use std::os::unix::fs::symlink;

use super::*;
use crate::site::tests::SmallDisk;

fn prepared(world: &World, text: &str) -> Prepared {
    fs::write(world.out(), text).unwrap();
    prepare(&world.out(), &world.cache, NOW, |_| false).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_published_file_has_its_final_mode_and_time_and_a_second_link_in_the_work_directory() {
    let world = World::new();
    prepared(&world, "text").publish("epub/Emma.epub", &ATTEMPT).unwrap();
    let path = world.cache.path("epub/Emma.epub");
    assert_eq!((mode(&path), mode(&world.cache.path("epub"))), (0o440, 0o2750));
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
    assert_eq!(world.cache.look("epub/Emma.epub").unwrap().unwrap().made, NOW);
    assert_eq!(names(&world.cache.path("epub")), ["Emma.epub"]);
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    for umask in ["022", "077", "000"] {
        if crate::site::tests::inside("cache::tests::publish::modes_do_not_depend_on_the_umask", umask) {
            let world = World::new();
            set_mode(&world.cache.path(""), 0o2750);
            set_mode(&world.dir.path().join("work"), 0o700);
            fs::write(world.out(), "").unwrap();
            set_mode(&world.out(), 0o640);
            prepared(&world, "text").publish("epub/Emma.epub", &ATTEMPT).unwrap();
            assert_eq!(mode(&world.cache.path("epub")), 0o2750);
            assert_eq!(mode(&world.cache.path("epub/Emma.epub")), 0o440);
            return;
        }
    }
}

#[test]
fn a_published_file_has_the_group_of_the_cache() {
    let world = World::new();
    if !nix::unistd::Uid::effective().is_root() {
        crate::outside::skipped(
            "a_published_file_has_the_group_of_the_cache",
            "only root can give a directory to a group that it is not in",
        );
        return;
    }
    std::os::unix::fs::chown(world.cache.dir(), None, Some(12345)).unwrap();
    set_mode(world.cache.dir(), 0o2750);
    prepared(&world, "text").publish("epub/Emma.epub", &ATTEMPT).unwrap();
    for path in ["epub", "epub/Emma.epub"] {
        assert_eq!(fs::metadata(world.cache.path(path)).unwrap().gid(), 12345, "{path}");
    }
}

#[test]
fn a_user_outside_the_group_of_the_cache_is_told_so() {
    if crate::site::tests::inside("cache::tests::publish::a_user_outside_the_group_of_the_cache_is_told_so", "022") {
        let world = World::new();
        fs::write(world.out(), "text").unwrap();
        // A directory of root's group stands in for the cache.
        let error = prepare(&world.out(), &Cache::new("/etc".into()), NOW, |_| false).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("the group of cache/ (0)"), "{error}");
    }
}

#[test]
fn publishing_twice_renames_once_and_leaves_no_second_name() {
    let world = World::new();
    let prepared = prepared(&world, "text");
    prepared.publish("epub/Emma.epub", &ATTEMPT).unwrap();
    prepared.publish("epub/Emma.epub", &ATTEMPT).unwrap();
    assert_eq!(names(&world.cache.path("epub")), ["Emma.epub"]);
    assert_eq!(fs::metadata(world.out()).unwrap().nlink(), 2);
}

#[test]
fn what_a_dead_try_left_is_replaced() {
    let world = World::new();
    fs::create_dir(world.cache.path("epub")).unwrap();
    set_mode(&world.cache.path("epub"), 0o700);
    fs::write(world.cache.path("epub").join(format!(".{}", *ATTEMPT)), "half").unwrap();
    prepared(&world, "text").publish("epub/Emma.epub", &ATTEMPT).unwrap();
    assert_eq!(names(&world.cache.path("epub")), ["Emma.epub"]);
    assert_eq!(fs::read_to_string(world.cache.path("epub/Emma.epub")).unwrap(), "text");
    assert_eq!(mode(&world.cache.path("epub")), 0o2750);
}

#[test]
fn an_older_file_stays_whole_for_whoever_reads_it() {
    let world = World::new();
    world.publish("epub/Emma.epub", "old");
    let (old, _) = world.cache.open("epub/Emma.epub").unwrap().unwrap();
    world.publish("epub/Emma.epub", "new");
    assert_eq!(std::io::read_to_string(old).unwrap(), "old");
    assert_eq!(fs::read_to_string(world.cache.path("epub/Emma.epub")).unwrap(), "new");
}

#[test]
fn an_output_with_a_second_name_is_copied_so_that_nobody_can_change_it() {
    let world = World::new();
    let asset = world.dir.path().join("asset");
    fs::write(&asset, "text").unwrap();
    fs::hard_link(&asset, world.out()).unwrap();
    prepare(&world.out(), &world.cache, NOW, |_| false).unwrap().publish("epub/Emma.epub", &ATTEMPT).unwrap();
    fs::write(&asset, "changed").unwrap();
    assert_eq!(fs::read_to_string(world.cache.path("epub/Emma.epub")).unwrap(), "text");
    assert!(world.cache.published(&world.out(), "epub/Emma.epub").unwrap());
    assert_eq!(names(&world.dir.path().join("work")), ["out.epub"]);
}

#[test]
fn a_file_counts_as_published_by_its_inode_only() {
    let world = World::new();
    assert!(!world.cache.published(&world.out(), "epub/Emma.epub").unwrap());
    let prepared = prepared(&world, "text");
    assert!(!world.cache.published(&world.out(), "epub/Emma.epub").unwrap());
    prepared.publish("epub/Emma.epub", &ATTEMPT).unwrap();
    assert!(world.cache.published(&world.out(), "epub/Emma.epub").unwrap());
    fs::remove_file(world.out()).unwrap();
    fs::write(world.out(), "text").unwrap();
    assert!(!world.cache.published(&world.out(), "epub/Emma.epub").unwrap());
}

#[test]
fn an_output_that_is_replaced_after_it_was_prepared_is_not_published() {
    let world = World::new();
    let prepared = prepared(&world, "text");
    fs::remove_file(world.out()).unwrap();
    fs::write(world.out(), "other").unwrap();
    prepared.publish("epub/Emma.epub", &ATTEMPT).unwrap_err();
    assert_eq!(names(&world.cache.path("epub")), Vec::<String>::new());
}

#[test]
fn nothing_is_published_through_a_link_or_outside_the_cache() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), world.cache.path("epub")).unwrap();
    let prepared = prepared(&world, "text");
    let error = prepared.publish("epub/Emma.epub", &ATTEMPT).unwrap_err();
    assert_eq!(error.to_string(), "cache/epub is not a directory; move it away");
    assert_eq!(names(elsewhere.path()), Vec::<String>::new());
    for name in ["../Emma.epub", "epub/../../Emma.epub", "epub", "/Emma.epub", "epub/", "epub/.Emma"] {
        assert!(prepared.publish(name, &ATTEMPT).is_err(), "{name}");
    }
}

#[test]
fn a_link_with_the_final_name_is_replaced_and_not_followed() {
    let world = World::new();
    let victim = world.dir.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    fs::create_dir(world.cache.path("epub")).unwrap();
    symlink(&victim, world.cache.path("epub/Emma.epub")).unwrap();
    prepared(&world, "text").publish("epub/Emma.epub", &ATTEMPT).unwrap();
    assert_eq!(fs::read_to_string(victim).unwrap(), "untouched");
    assert!(fs::symlink_metadata(world.cache.path("epub/Emma.epub")).unwrap().is_file());
}

#[test]
fn a_name_left_by_an_attempt_is_found_and_removed() {
    let world = World::new();
    world.publish("epub/Emma.epub", "text");
    let temp = world.cache.path("epub").join(format!(".{}", *ATTEMPT));
    fs::write(&temp, "half").unwrap();
    fs::write(world.cache.path("epub/.foreign"), "").unwrap();
    let temps = world.cache.temps(&mut Vec::new());
    assert_eq!(temps, [crate::cache::prune::Temp { exporter: "epub".into(), attempt: ATTEMPT.clone() }]);
    world.cache.remove_temp("epub", &ATTEMPT).unwrap();
    world.cache.remove_temp("epub", &ATTEMPT).unwrap();
    world.cache.remove_temp("none", &ATTEMPT).unwrap();
    assert_eq!(names(&world.cache.path("epub")), [".foreign", "Emma.epub"]);
}

#[test]
fn on_a_full_disk_a_file_is_still_published_since_nothing_is_copied() {
    let Some(disk) = SmallDisk::mount("2m") else { return };
    let world = World::at(tempfile::tempdir_in(disk.path()).unwrap());
    fs::create_dir(world.cache.path("epub")).unwrap();
    fs::write(world.out(), "text").unwrap();
    disk.fill();
    prepare(&world.out(), &world.cache, NOW, |_| false).unwrap().publish("epub/Emma.epub", &ATTEMPT).unwrap();
    assert_eq!(fs::read_to_string(world.cache.path("epub/Emma.epub")).unwrap(), "text");
}
