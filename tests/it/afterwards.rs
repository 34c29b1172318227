//! What somebody outside of the exporter's tree, or a mount in its directory, could spoil after its end.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
};

use crate::support::{
    running::{go, held_by, results},
    site::{Site, wait_until},
    together::wait_for_runs,
};

const WAITING: &str = "echo whole >\"$1\"\necho \"$1\" >../../../output\necho up >>../../../up\n\
                       until [ -e ../../../go ]; do sleep 0.01; done";

/// The test holds the file open for writing, as a helper might to whom the exporter has given a descriptor.
#[test]
fn whoever_had_the_output_open_cannot_change_what_is_published() {
    let site = held_by(WAITING, "");
    let output = fs::read_to_string(site.path("output")).unwrap();
    let mut file = OpenOptions::new().append(true).open(output.trim()).unwrap();
    go(&site);
    wait_for_runs(&site);
    site.ask("Emma").exits(0);
    file.write_all(b"spoilt").unwrap();
    assert_eq!(fs::read_to_string(site.cached("epub/Emma.epub")).unwrap(), "whole\n");
    let mode = fs::metadata(site.cached("epub/Emma.epub")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o440);
}

/// Unmounted when the test ends, however it does.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn new(words: &[&str], at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        Command::new("mount").args(words).arg(at).output().is_ok_and(|done| done.status.success()).then_some(Self(at))
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

/// A bind mount lies on the same file system; another file system is the simpler case.
#[test]
fn a_mount_in_a_work_directory_stays_with_all_that_is_in_it() {
    let site = Site::new().exporter("mkdir -p deep/er; echo up >>../../../up; exit 1").create();
    let outside = site.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o751)).unwrap();
    let work = site.path("s/work/01ARZ3NDEKTSV4RRFFQ69G5FAV");
    for (words, below) in [
        (vec!["--bind", outside.to_str().unwrap()], "mounted"),
        (vec!["--bind", outside.to_str().unwrap()], "a/b/c/mounted"),
        (vec!["-t", "tmpfs", "tmpfs"], "mounted"),
        (vec!["--bind", outside.to_str().unwrap()], ""),
    ] {
        let place = work.join(below);
        let Some(mount) = Mount::new(&words, &place) else {
            crate::support::outside::skipped(
                "a_mount_in_a_work_directory_stays_with_all_that_is_in_it",
                "nothing can be mounted here",
            );
            return;
        };
        fs::create_dir_all(place.join("kept")).unwrap();
        fs::write(place.join("kept/file"), "kept").unwrap();
        let mode = fs::metadata(&place).unwrap().permissions().mode();
        site.brief_tick().exits(0).warns("is a mount point; unmount it");
        site.brief_tick().exits(0).stderr(""); // it was told, and from now on it is counted
        site.run(&["status"]).says("1 ended attempt left files in work/ that cannot be removed");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounted = mounts.lines().find(|line| line.contains(site.dir().to_str().unwrap())).expect("still mounted");
        let place = Path::new(mounted.split(' ').nth(4).unwrap());
        assert_eq!(fs::read_to_string(place.join("kept/file")).unwrap(), "kept");
        assert_eq!(fs::metadata(place).unwrap().permissions().mode(), mode, "not even its mode is changed");
        assert!(Command::new("umount").arg(place).output().unwrap().status.success());
        drop(mount);
        wait_until("it is removed", || {
            site.brief_tick().exits(0);
            !work.exists()
        });
    }
    assert_eq!(results(&site), "");
}
