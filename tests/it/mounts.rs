//! `work/` and the cache on different mounts, between which no file can be linked, and files of the cache that somebody has
//! given to another user: `check` names them, and tells what to do.

use std::{fs, os::unix::fs::MetadataExt, process::Command};

use nix::unistd::geteuid;

use crate::support::site::{Done, Site};

/// The command after this part of the site was mounted once more in its own place. `None`: that cannot be done here.
fn beside_a_mount(test: &str, site: &Site, part: &str, words: &[&str]) -> Option<Done> {
    if !crate::support::outside::has_mounts(test) {
        return None;
    }
    let command = site.command(words);
    let script = format!("mount --bind {part} {part} && exec \"$0\" \"$@\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", &script]).arg(command.get_program()).args(command.get_args());
    unshare.current_dir(site.dir()).env_clear();
    Some(Done::of(unshare.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))))
}

#[test]
fn a_cache_on_another_mount_of_the_same_disk_is_named_before_a_job_is_used_up() {
    let test = "a_cache_on_another_mount_of_the_same_disk_is_named_before_a_job_is_used_up";
    let site = Site::new().create();
    site.ask("Emma").exits(75);
    let dir = site.path("s").display().to_string();
    let why =
        format!("files of {dir}/work cannot be linked into {dir}/cache, because they are on different mounts; mount ");
    let run = |words: &[&str]| beside_a_mount(test, &site, "s/cache", words);
    let Some(check) = run(&["check", "--allow-root"]) else { return };
    check.exits(78).warns(&why);
    run(&["check", "--create", "--allow-root"]).expect("as before").exits(78).warns(&why);
    run(&["tick", "--allow-root", "--wait"]).expect("as before").exits(74).warns(&why);
    run(&["status"]).expect("as before").exits(2).says(&why);
    site.ask("Emma").exits(75).stdout("queued 1\n");
    site.tick().exits(0).stderr("");
    site.ask("Emma").exits(0);
}

#[test]
fn one_exporters_directory_on_another_mount_is_named_by_check_status_and_its_attempts() {
    let test = "one_exporters_directory_on_another_mount_is_named_by_check_status_and_its_attempts";
    let site = Site::new().exporter_with(r#"echo whole >"$1""#, "max_attempts = 1").create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.ask("Nana").exits(75);
    let dir = site.path("s").display().to_string();
    let why =
        format!("files of {dir}/work cannot be linked into {dir}/cache/epub, because they are on different mounts");
    let run = |words: &[&str]| beside_a_mount(test, &site, "s/cache/epub", words);
    let Some(check) = run(&["check", "--allow-root"]) else { return };
    check.exits(78).warns(&why);
    run(&["status"]).expect("as before").exits(2).says(&why);
    run(&["tick", "--allow-root", "--wait"]).expect("as before").exits(0);
    site.mailed();
    let detail = site.text("SELECT detail FROM attempt WHERE filename = 'epub/Nana.epub'");
    assert!(detail.contains(&why), "{detail}");
}

#[test]
fn files_of_the_cache_that_were_given_away_are_named_and_put_right() {
    if !crate::support::outside::is_root(
        "files_of_the_cache_that_were_given_away_are_named_and_put_right",
        "needs root",
    ) {
        return;
    }
    let site = Site::new().by_nobody().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0).stderr("");
    site.tick().exits(0).stderr("");
    let file = site.cached("epub/Emma.epub");
    let about = fs::metadata(&file).expect("the file");
    let (uid, gid) = (about.uid(), about.gid());
    for path in [site.path("s/cache"), site.path("s/cache/epub"), file.clone()] {
        std::os::unix::fs::chown(path, Some(0), Some(0)).expect("root may");
    }
    let as_root = |words: &[&str]| {
        let mut root = Command::new(env!("CARGO_BIN_EXE_pressroom"));
        Done::of(root.args(words).arg("--config").arg(site.config()).env_clear().current_dir("/"))
    };
    // The sentence holds the whole command.
    let command = format!("run `sudo pressroom check --create --user {uid} --group {gid} --config ");
    site.run(&["check"]).exits(78).warns("s/cache belongs to user root").warns(&command);
    as_root(&["status"]).exits(2).says(&format!("run `pressroom check --create --user {uid} --group {gid} --config "));
    std::os::unix::fs::chown(site.path("s/cache"), Some(uid), Some(gid)).expect("root may");
    std::os::unix::fs::chown(site.path("s/cache/epub"), Some(uid), Some(gid)).expect("root may");
    let told = site.run(&["check"]);
    told.exits(78)
        .warns("1 file has the wrong owner or mode in ")
        .warns("epub/Emma.epub, for instance")
        .warns(&command);
    let user = uid.to_string();
    let create = as_root(&["check", "--create", "--user", &user, "--group", &user]);
    create.says("corrected 1 file in ");
    let about = fs::metadata(&file).expect("the file");
    assert_eq!((about.uid(), about.gid(), about.mode() & 0o7777), (uid, gid, 0o440));
    site.run(&["check"]).exits(0);
}

/// Root may use what is reserved for root, and its `status` speaks of those who may not.
#[test]
fn a_status_of_roots_counts_what_is_free_for_others() {
    let test = "a_status_of_roots_counts_what_is_free_for_others";
    let site =
        Site::new().head("state_dir = \"disk/s\"\n[cache]\nmin_free = \"0B\"\n[host]\nmin_free_memory = \"0B\"\n");
    let script = "truncate -s 32M image && mkfs.ext4 -q -m 50 image && mkdir disk && mount -o loop image disk";
    let made = Command::new("sh").args(["-c", script]).current_dir(site.dir()).output();
    if !(geteuid().is_root() && made.is_ok_and(|made| made.status.success())) {
        crate::support::outside::skipped(test, "needs root, a loop device and mkfs.ext4");
        return;
    }
    let site = site.create();
    let about = nix::sys::statvfs::statvfs(&site.path("disk")).expect("the disk");
    let others = about.blocks_available() * about.fragment_size();
    let json = site.run(&["status", "--format", "json"]).json();
    let _ = Command::new("umount").arg("-l").arg(site.path("disk")).status();
    assert_eq!(json["disk"]["free"].as_u64(), Some(others), "{json}");
    assert!(about.blocks_free() * about.fragment_size() > others + (8 << 20));
}
