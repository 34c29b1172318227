use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_work_directory_is_for_its_owner_alone_and_is_made_once() {
    let world = World::new();
    let work = world.site.make_work(&ATTEMPT).unwrap();
    assert_eq!(mode(&work), 0o700);
    world.site.make_work(&ATTEMPT).unwrap_err();
}

#[test]
fn directories_of_mode_000_are_removed() {
    if !inside("site::tests::work::directories_of_mode_000_are_removed", "022") {
        return;
    }
    let world = World::new();
    let work = world.site.make_work(&ATTEMPT).unwrap();
    fs::create_dir_all(work.join("a/b/c")).unwrap();
    fs::write(work.join("a/b/c/file"), "").unwrap();
    fs::create_dir(work.join("moved-1")).unwrap();
    for dir in ["a/b/c", "a/b", "a", ""] {
        set_mode(&work.join(dir), 0);
    }
    world.site.remove_work(&ATTEMPT).unwrap();
    assert!(!work.exists());
    world.site.remove_work(&ATTEMPT).unwrap();
}

#[test]
fn nothing_behind_a_link_is_touched() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("precious"), "").unwrap();
    let work = world.site.make_work(&ATTEMPT).unwrap();
    fs::create_dir(work.join("dir")).unwrap();
    symlink(elsewhere.path(), work.join("dir/link")).unwrap();
    symlink(elsewhere.path(), work.join("link")).unwrap();
    set_mode(elsewhere.path(), 0o555);
    world.site.remove_work(&ATTEMPT).unwrap();
    symlink(elsewhere.path(), &work).unwrap();
    world.site.remove_work(&ATTEMPT).unwrap();
    assert!(fs::symlink_metadata(&work).is_err());
    assert!(elsewhere.path().join("precious").exists());
    assert_eq!(mode(elsewhere.path()), 0o555);
    set_mode(elsewhere.path(), 0o700);
}

#[test]
fn a_tree_deeper_than_any_path_is_removed() {
    let world = World::new();
    let work = world.site.make_work(&ATTEMPT).unwrap();
    let name = "d".repeat(200);
    // Built by renaming: a tree of this depth has no path by which its bottom could be made.
    fs::create_dir(work.join("top")).unwrap();
    for _ in 0..300 {
        fs::create_dir(work.join("next")).unwrap();
        fs::rename(work.join("top"), work.join("next").join(&name)).unwrap();
        fs::rename(work.join("next"), work.join("top")).unwrap();
    }
    world.site.remove_work(&ATTEMPT).unwrap();
    assert!(!work.exists());
}

#[test]
fn many_files_and_special_ones_are_removed() {
    let world = World::new();
    let work = world.site.make_work(&ATTEMPT).unwrap();
    fs::write(work.join("file"), "").unwrap();
    for number in 0..5000 {
        fs::hard_link(work.join("file"), work.join(number.to_string())).unwrap();
    }
    nix::unistd::mkfifo(&work.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap());
    world.site.remove_work(&ATTEMPT).unwrap();
    assert!(!work.exists());
}

#[test]
fn only_ids_of_attempts_are_found_on_the_disk() {
    let world = World::new();
    let other = AttemptId::parse("01BX5ZZKBKACTAV9WEVGEMMVRZ").unwrap();
    world.site.make_work(&ATTEMPT).unwrap();
    drop(world.site.new_lock(&ATTEMPT).unwrap());
    drop(world.site.new_lock(&other).unwrap());
    fs::write(world.site.work().join("stray.lock"), "").unwrap();
    assert_eq!(world.site.attempts_on_disk().unwrap(), [ATTEMPT.clone(), other]);
    fs::write(world.site.log_of(&ATTEMPT), "").unwrap();
    world.site.remove_log(&ATTEMPT).unwrap();
    world.site.remove_log(&ATTEMPT).unwrap();
    assert!(!world.site.log_of(&ATTEMPT).exists());
}
