use nix::{sys::stat::Mode, unistd::mkfifo};

use super::*;
use crate::{config::FileOutput, model::status::Outcome, site::tests::SmallDisk};

fn rules() -> FileOutput {
    FileOutput {
        extension: ".epub".into(),
        content_type: "application/epub+zip".into(),
        min_size: 4,
        magic: b"PK".to_vec(),
        ends_with: b"END".to_vec(),
    }
}

fn verdict(out: &Path) -> Result<u64, String> {
    accept(out, &rules(), Some(100)).map_err(|refusal| refusal.to_string())
}

#[track_caller]
fn refused(text: &[u8], with: &str) {
    let world = World::new();
    fs::write(world.out(), text).unwrap();
    let said = verdict(&world.out()).unwrap_err();
    assert!(said.contains(with), "{said}");
}

#[test]
fn a_whole_file_is_accepted_with_its_size() {
    let world = World::new();
    fs::write(world.out(), "PK and the END, with a comment").unwrap();
    assert_eq!(verdict(&world.out()), Ok(30));
}

#[test]
fn a_file_that_is_not_whole_is_refused_with_the_reason() {
    refused(b"", "is empty");
    refused(b"PK", "2 bytes, fewer than the 4");
    refused(b"<html>END", "does not begin");
    refused(b"PK and no more", "does not end");
    refused(&[b'P'; 100], "100 bytes that file_size allows");
}

#[test]
fn the_mark_of_the_end_counts_only_near_the_end() {
    let world = World::new();
    let text = |after: usize| [b"PK END".to_vec(), vec![b' '; after]].concat();
    fs::write(world.out(), text(1021)).unwrap();
    assert!(accept(&world.out(), &rules(), None).is_ok());
    fs::write(world.out(), text(1022)).unwrap();
    assert!(matches!(accept(&world.out(), &rules(), None), Err(NotAccepted::End)));
}

#[test]
fn a_magic_longer_than_the_file_is_a_refusal_and_no_error() {
    let world = World::new();
    fs::write(world.out(), "PK").unwrap();
    let rules = FileOutput { magic: b"PK and more".to_vec(), min_size: 0, ends_with: Vec::new(), ..rules() };
    assert!(matches!(accept(&world.out(), &rules, None), Err(NotAccepted::Magic)));
}

#[test]
fn a_cut_file_is_told_as_file_size_and_every_other_as_no_output() {
    assert_eq!(NotAccepted::CutAtLimit(1).outcome(), Outcome::FileSize);
    assert_eq!(NotAccepted::Missing.outcome(), Outcome::NoOutput);
    assert_eq!(NotAccepted::DiskFull.outcome(), Outcome::NoOutput);
}

#[test]
fn links_fifos_directories_and_nothing_are_refused_and_never_opened() {
    let world = World::new();
    let out = world.out();
    assert!(verdict(&out).unwrap_err().contains("left no file"));
    fs::create_dir(&out).unwrap();
    assert!(verdict(&out).unwrap_err().contains("a directory"));
    fs::remove_dir(&out).unwrap();
    mkfifo(&out, Mode::S_IRWXU).unwrap();
    assert!(verdict(&out).unwrap_err().contains("a link or a special file"));
    fs::remove_file(&out).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &out).unwrap();
    assert!(verdict(&out).unwrap_err().contains("a link or a special file"));
    assert!(prepare(&out, &world.cache, NOW, |_| false).is_err());
}

#[test]
fn the_output_of_an_exporter_that_removed_its_directory_is_missing() {
    let world = World::new();
    fs::remove_dir(world.dir.path().join("work")).unwrap();
    assert!(matches!(accept(&world.out(), &rules(), None), Err(NotAccepted::Missing)));
}

#[test]
fn a_file_of_mode_000_is_read_all_the_same() {
    if !crate::site::tests::inside("cache::tests::accept::a_file_of_mode_000_is_read_all_the_same", "022") {
        return;
    }
    let world = World::new();
    fs::write(world.out(), "PK and the END").unwrap();
    set_mode(&world.out(), 0);
    assert_eq!(verdict(&world.out()), Ok(14));
}

#[test]
fn with_the_disk_full_every_output_is_told_as_that() {
    let Some(disk) = SmallDisk::mount("2m") else { return };
    let world = World::at(tempfile::tempdir_in(disk.path()).unwrap());
    fs::write(world.out(), "PK and the END").unwrap();
    assert_eq!(verdict(&world.out()), Ok(14));
    disk.fill();
    assert!(verdict(&world.out()).unwrap_err().contains("the disk is full"));
    fs::remove_file(world.out()).unwrap();
    assert!(verdict(&world.out()).unwrap_err().contains("the disk is full"));
    fs::create_dir(world.out()).unwrap();
    assert!(verdict(&world.out()).unwrap_err().contains("a directory"));
}
