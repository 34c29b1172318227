use std::{
    fs::File,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

use super::*;

/// A process that holds the file as its standard input, as a run does, until it is killed.
fn holder(lock: File) -> Child {
    let script = "echo holding; exec sleep 600";
    let mut child = Command::new("sh").args(["-c", script]).stdin(lock).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "holding\n");
    child
}

/// Waits for a lock to be let go: between fork and exec, a child of another test has a copy of every open file.
#[track_caller]
fn eventually<T>(look: impl Fn() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "still not so after 30 seconds");
        thread::yield_now();
    }
}

#[test]
fn a_lock_lives_as_long_as_the_process_that_it_was_handed_to() {
    let world = World::new();
    let mut run = holder(world.site.new_lock(&ATTEMPT).unwrap());
    assert_eq!(world.site.peek(&ATTEMPT), Sight::Alive);
    assert!(matches!(world.site.try_take(&ATTEMPT), Probe::Alive));
    run.kill().unwrap();
    run.wait().unwrap();
    eventually(|| (world.site.peek(&ATTEMPT) == Sight::Free).then_some(()));
    let _held = eventually(|| match world.site.try_take(&ATTEMPT) {
        Probe::Free(held) => Some(held),
        _ => None,
    });
    assert_eq!(world.site.peek(&ATTEMPT), Sight::Alive);
}

#[test]
fn no_lock_goes_over_to_a_child_that_it_is_not_handed_to() {
    let world = World::new();
    let lock = world.site.new_lock(&ATTEMPT).unwrap();
    let tick = world.site.take_tick().unwrap().unwrap();
    let mut stranger = holder(File::open("/dev/null").unwrap());
    drop((lock, tick));
    eventually(|| (world.site.peek(&ATTEMPT) == Sight::Free).then_some(()));
    eventually(|| world.site.take_tick().unwrap());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn an_attempt_gets_its_lock_once() {
    let world = World::new();
    let lock = world.site.new_lock(&ATTEMPT).unwrap();
    assert_eq!(mode(&world.site.lock_of(&ATTEMPT)), 0o600);
    world.site.new_lock(&ATTEMPT).unwrap_err();
    drop(lock);
    world.site.new_lock(&ATTEMPT).unwrap_err();
}

#[test]
fn onlookers_do_not_make_each_other_believe_in_a_run() {
    let world = World::new();
    drop(world.site.new_lock(&ATTEMPT).unwrap());
    let other = File::open(world.site.lock_of(&ATTEMPT)).unwrap();
    fs2::FileExt::lock_shared(&other).unwrap();
    eventually(|| (world.site.peek(&ATTEMPT) == Sight::Free).then_some(()));
}

#[test]
fn what_is_missing_or_no_lock_file_is_told_as_that() {
    let world = World::new();
    assert_eq!(world.site.peek(&ATTEMPT), Sight::Missing);
    assert!(matches!(world.site.try_take(&ATTEMPT), Probe::Missing));
    assert!(!world.site.lock_of(&ATTEMPT).exists());
    symlink("/etc/passwd", world.site.lock_of(&ATTEMPT)).unwrap();
    assert_eq!(world.site.peek(&ATTEMPT), Sight::Unverified);
    assert!(matches!(world.site.try_take(&ATTEMPT), Probe::Unverified));
    world.site.remove_lock(&ATTEMPT).unwrap();
    world.site.remove_lock(&ATTEMPT).unwrap();
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn a_lock_of_another_user_is_unverified() {
    if !Uid::effective().is_root() && env::var_os("PRESSROOM_TEST_INSIDE").is_none() {
        crate::outside::skipped("a_lock_of_another_user_is_unverified", "only root has two users");
        return;
    }
    if inside("site::tests::lock::a_lock_of_another_user_is_unverified", "022") {
        let world = World::new();
        drop(world.site.new_lock(&ATTEMPT).unwrap());
        set_mode(&world.site.lock_of(&ATTEMPT), 0);
        assert_eq!(world.site.peek(&ATTEMPT), Sight::Unverified);
        assert!(matches!(world.site.try_take(&ATTEMPT), Probe::Unverified));
    }
}

#[test]
fn one_tick_works_one_waits_and_a_third_is_turned_away() {
    let world = World::new();
    let first = world.site.take_tick().unwrap().unwrap();
    assert!(world.site.take_tick().unwrap().is_none());
    let second = world.site.take_next().unwrap().unwrap();
    assert!(world.site.take_next().unwrap().is_none());
    drop(second);
    eventually(|| world.site.take_next().unwrap());
    drop(first);
    eventually(|| world.site.take_tick().unwrap());
}

#[test]
fn the_successor_gets_the_lock_when_the_tick_ends() {
    let world = World::new();
    let first = world.site.take_tick().unwrap().unwrap();
    let (tell, told) = mpsc::channel();
    let site = world.site.clone();
    let successor = thread::spawn(move || {
        let lock = site.wait_for_tick().unwrap();
        tell.send(()).unwrap();
        drop(lock);
    });
    assert!(told.try_recv().is_err());
    drop(first);
    told.recv_timeout(Duration::from_secs(30)).unwrap();
    successor.join().unwrap();
}

#[test]
fn the_note_in_a_held_lock_can_be_read_by_others() {
    let world = World::new();
    let lock = world.site.new_lock(&ATTEMPT).unwrap();
    assert_eq!(world.site.lock_metadata(&ATTEMPT).unwrap(), LockMetadata::default());
    let run = Some(crate::model::process::ProcessId { pid: 7, start: 99 });
    let note = LockMetadata { run, boot_id: boot_id().unwrap(), ..LockMetadata::default() };
    note.write(&lock).unwrap();
    assert_eq!(world.site.lock_metadata(&ATTEMPT).unwrap(), note);
    assert_eq!(world.site.peek(&ATTEMPT), Sight::Alive);
}
