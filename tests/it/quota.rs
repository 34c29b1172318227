//! A quota that is used up on a disk that has space enough: full is whatever refuses to write.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::Command,
    time::{Duration, SystemTime},
};

use nix::unistd::geteuid;

use crate::support::site::{Site, wait_until};

/// A file system with much space, on which a subvolume may have this many MiB. Unmounted when dropped.
struct Quota(PathBuf);

impl Quota {
    /// `None`: it cannot be made here, which is told as a skip.
    fn of(test: &str, site: &Site, most: u32) -> Option<Self> {
        let script = format!(
            "truncate -s 300M image && mkfs.btrfs -q image && mkdir disk && mount -o loop image disk && \
             btrfs subvolume create disk/q && btrfs quota enable disk && btrfs qgroup limit {most}M disk/q && sync disk"
        );
        let made = Command::new("sh").args(["-c", &script]).current_dir(site.dir()).output();
        let quota = Self(site.path("disk"));
        if geteuid().is_root() && made.is_ok_and(|output| output.status.success()) {
            return Some(quota);
        }
        crate::support::outside::skipped(test, "no quota on a btrfs (needs root, a loop device and btrfs-progs)");
        None
    }

    /// Writes until it is refused.
    fn use_up(&self) {
        for (name, size) in [("junk", 1 << 20), ("more", 4096), ("most", 4096)] {
            let Ok(mut file) = fs::File::create(self.0.join("q").join(name)) else { return };
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
            let _ = file.sync_all();
        }
    }

    /// Bytes that are free on the disk.
    fn free(&self) -> u64 {
        let about = nix::sys::statvfs::statvfs(&self.0).expect("the disk");
        about.blocks_available() * about.fragment_size()
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn site() -> Site {
    Site::new().head("state_dir = \"disk/q/s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n")
}

#[test]
fn an_export_that_uses_up_a_quota_is_not_published_as_ready() {
    let test = "an_export_that_uses_up_a_quota_is_not_published_as_ready";
    let site = site().exporter(r#"dd if=/dev/zero of="$1" bs=64k count=1000 2>/dev/null; exit 0"#);
    let Some(quota) = Quota::of(test, &site, 20) else { return };
    let site = site.create();
    site.ask("Emma").exits(75);
    site.tick();
    assert!(quota.free() > 100 << 20, "the disk has space enough");
    wait_until("it has ended", || {
        site.tick();
        site.ask("Emma").output.status.code() != Some(75)
    });
    site.ask("Emma").exits(70);
    site.run(&["jobs", "show", "epub/Emma.epub"]).exits(0).says("disk is full");
    assert_eq!(site.names("disk/q/s/cache/epub"), [""; 0], "nothing cut is published");
    let site = site.exporter(r#"printf "%s\n" "$2" >"$1""#);
    site.run(&["jobs", "retry", "epub/Emma.epub"]).exits(0);
    wait_until("it is made", || {
        site.tick();
        site.ask("Emma").output.status.code() == Some(0)
    });
}

#[test]
fn a_quota_that_is_used_up_is_a_full_disk_and_is_recovered_from() {
    let test = "a_quota_that_is_used_up_is_a_full_disk_and_is_recovered_from";
    let site = site();
    let Some(quota) = Quota::of(test, &site, 24) else { return };
    let site = site.create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    // An old book of eight megabytes, and then nothing more may be written.
    let old = site.path("disk/q/s/cache/epub/Old.epub");
    fs::write(&old, vec![b'x'; 8 << 20]).expect("written");
    fs::File::open(&old).and_then(|file| file.sync_all()).expect("synced");
    quota.use_up();
    assert!(quota.free() > 100 << 20, "the disk has space enough");
    site.ask("Emma").exits(0).says("ready ").stderr("");
    for number in 0..500 {
        let done = site.ask(&format!("book{number}"));
        match done.output.status.code() {
            Some(75) if number < 499 => {}
            _ => {
                done.exits(69).stdout("unavailable the disk is full\n");
                break;
            }
        }
    }
    site.run(&["status"]).exits(2).says("critical: the disk is full");
    site.run(&["tick", "--allow-root"]).stdout("");
    // What has had its time frees space.
    let then = SystemTime::now() - Duration::from_mins(15);
    fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(then)).expect("its time");
    wait_until("what has expired is pruned, and books are taken again", || {
        let tick = site.run(&["tick", "--allow-root"]);
        assert!([Some(0), Some(74)].contains(&tick.output.status.code()), "{}", tick.err());
        [Some(0), Some(75)].contains(&site.ask("Nana").output.status.code())
    });
    assert!(!old.exists());
}
