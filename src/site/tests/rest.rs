use std::{
    os::{fd::AsFd, unix::fs::symlink},
    process::Stdio,
};

use super::*;

/// Whether it rings within the time.
fn rang(bell: &Doorbell, limit: Duration) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let limit = PollTimeout::try_from(limit).unwrap();
    poll(&mut [PollFd::new(bell.as_fd(), PollFlags::POLLIN)], limit).unwrap() > 0
}

#[test]
fn a_ring_without_a_listener_or_a_bell_is_nothing() {
    let world = World::new();
    world.site.ring();
    fs::remove_file(world.site.doorbell()).unwrap();
    world.site.ring();
    assert!(!world.site.doorbell().exists());
}

#[test]
fn a_ring_is_heard_once_however_often_it_rang() {
    let world = World::new();
    let bell = Doorbell::open(&world.site).unwrap();
    assert!(!rang(&bell, Duration::ZERO));
    // More than the pipe holds: ringing never blocks.
    for _ in 0..70_000 {
        world.site.ring();
    }
    assert!(rang(&bell, Duration::from_secs(30)));
    assert!(bell.drain().unwrap());
    assert!(!bell.drain().unwrap());
    assert!(!rang(&bell, Duration::ZERO));
}

#[test]
fn a_ring_between_two_ticks_reaches_the_one_that_has_opened_the_bell() {
    let world = World::new();
    let first = Doorbell::open(&world.site).unwrap();
    let successor = Doorbell::open(&world.site).unwrap();
    drop(first);
    world.site.ring();
    assert!(rang(&successor, Duration::from_secs(30)));
}

#[test]
fn a_file_in_the_place_of_the_bell_is_not_written_to() {
    let world = World::new();
    let victim = world.dir.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    fs::remove_file(world.site.doorbell()).unwrap();
    symlink(&victim, world.site.doorbell()).unwrap();
    world.site.ring();
    assert!(Doorbell::open(&world.site).is_err());
    fs::remove_file(world.site.doorbell()).unwrap();
    fs::hard_link(&victim, world.site.doorbell()).unwrap();
    world.site.ring();
    assert!(Doorbell::open(&world.site).is_err());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
}

#[test]
fn another_process_rings_too() {
    let world = World::new();
    let bell = Doorbell::open(&world.site).unwrap();
    let script = "echo >\"$0\"";
    let mut shell =
        Command::new("sh").args(["-c", script]).arg(world.site.doorbell()).stdin(Stdio::null()).spawn().unwrap();
    assert!(shell.wait().unwrap().success());
    assert!(rang(&bell, Duration::from_secs(30)));
}

#[test]
fn the_reserve_is_given_up_once_and_taken_back() {
    let world = World::new();
    assert!(world.site.give_up_reserve().unwrap());
    assert!(!world.site.give_up_reserve().unwrap());
    assert_eq!(mode(&world.site.reserve()), 0o660);
    assert!(world.site.restore_reserve().unwrap());
    assert_eq!(fs::metadata(world.site.reserve()).unwrap().len(), 1 << 20);
    fs::remove_file(world.site.reserve()).unwrap();
    assert!(!world.site.give_up_reserve().unwrap());
    assert!(world.site.restore_reserve().unwrap());
    assert_eq!(mode(&world.site.reserve()), 0o660);
}

#[test]
fn on_a_full_disk_the_reserve_makes_room_and_is_not_taken_back() {
    let Some(disk) = SmallDisk::mount("6m") else { return };
    let config = config(&disk.path().join("state"));
    Site::create(&config, None, None).unwrap();
    let site = Site::open(&config).unwrap();
    disk.fill();
    assert!(free_bytes(disk.path()).unwrap() < 1 << 16);
    assert!(site.give_up_reserve().unwrap());
    assert!(free_bytes(disk.path()).unwrap() >= 1 << 20);
    assert!(!site.restore_reserve().unwrap());
    fs::remove_file(disk.path().join("filler")).unwrap();
    assert!(site.restore_reserve().unwrap());
}

#[test]
fn a_site_is_made_on_a_full_disk_without_its_reserve_or_not_at_all() {
    let Some(disk) = SmallDisk::mount("600k") else { return };
    let config = config(&disk.path().join("state"));
    Site::create(&config, None, None).unwrap();
    assert_eq!(fs::metadata(Site::open(&config).unwrap().reserve()).unwrap().len(), 0);
}

#[test]
fn another_file_system_below_the_state_directory_is_refused() {
    let world = World::new();
    let mount = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(world.site.cache()).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        crate::outside::skipped(
            "another_file_system_below_the_state_directory_is_refused",
            "a tmpfs cannot be mounted here",
        );
        return;
    }
    let problems = world.site.problems(&world.config);
    let created = Site::create(&world.config, None, None);
    let apart = crate::site::disk::same_filesystem(&world.site.work(), &world.site.cache()).unwrap();
    assert!(Command::new("umount").arg(world.site.cache()).status().unwrap().success());
    assert!(!apart);
    assert!(problems.iter().any(|problem| problem.contains("one file system")), "{problems:?}");
    assert!(created.unwrap_err().to_string().contains("on different mounts"));
}

#[test]
fn this_boot_has_an_id() {
    assert_eq!(boot_id().unwrap().len(), 36);
    assert_eq!(machine_id(), machine_id().trim());
}
