//! `pressroom check`: what is wrong, for whom, and what to do.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use crate::support::site::{Done, Site};

/// A user that every Debian has, and whose crontab the tests pretend to use.
const USER: &str = "daemon";

#[track_caller]
fn check(site: &Site) -> Done {
    site.run(&["check"])
}

#[test]
fn a_new_site_is_fine_and_told_to_get_a_crontab() {
    let site = Site::new();
    let created = site.run(&["check", "--create", "--allow-root"]);
    created.exits(0).says("\nnext: put `pressroom tick` into the crontab of ");
    assert!(!created.out().contains("warning: no tick"), "{}", created.out());
    check(&site)
        .exits(0)
        .stderr("")
        .says("ok: ")
        .says("SQLite 3.")
        .says("warning: no tick has run yet")
        .says("crontab of");
    site.tick();
    let well = check(&site);
    assert_eq!(well.exits(0).out().lines().count(), 1, "{}", well.out());
}

#[test]
fn every_mistake_of_the_file_is_told_at_once_with_its_place() {
    let site = Site::new().more("[queue.default]\nmax_runing = 1\n[cache2]\n");
    check(&site).exits(78).warns("unknown key \"max_runing\"").warns("pressroom.toml:").warns("cache2");
}

#[test]
fn a_wrong_mode_a_missing_directory_and_a_damaged_database_are_problems() {
    let site = Site::new().create();
    fs::remove_dir(site.path("s/log")).unwrap();
    fs::set_permissions(site.path("s/work"), Permissions::from_mode(0o755)).unwrap();
    for name in ["pressroom.db-wal", "pressroom.db-shm"] {
        fs::remove_file(site.path("s/queue").join(name)).unwrap();
    }
    fs::write(site.path("s/queue/pressroom.db"), "nonsense".repeat(1000)).unwrap();
    let told = check(&site);
    told.exits(78).warns("s/log is missing; run `pressroom check --create --user ").warns("has mode 0755, not 0700");
    told.warns("not a database of pressroom");
}

#[test]
fn limits_above_the_users_own_and_a_low_disk_are_warnings() {
    let limits = "[exporter.epub.limits]\nopen_files = 900000000\n";
    let site =
        Site::new().head("state_dir = \"s\"\n[cache]\nmin_free = \"900PB\"\n").exporter_with("true", limits).create();
    let told = check(&site);
    told.exits(0).says("exporter epub: open_files is 900000000, but this user's own limit is");
    told.says("nothing is started with less than min_free");
}

#[test]
fn root_checks_with_the_eyes_of_the_cron_user() {
    if !crate::support::outside::is_root("root_checks_with_the_eyes_of_the_cron_user", "this is not root") {
        return;
    }
    let site = Site::new().exporter("true");
    let script = site.path("export");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(site.dir(), Permissions::from_mode(0o755)).unwrap();
    let config = fs::read_to_string(site.config()).unwrap();
    fs::write(site.config(), config.replace("/bin/sh\"", &format!("{}\"", script.display()))).unwrap();
    fs::set_permissions(site.config(), Permissions::from_mode(0o644)).unwrap();
    let create = site.run(&["check", "--create", "--user", USER]);
    create.exits(78).warns("is not executable for this user").says("crontab of daemon");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    check(&site).exits(0).stderr("");
    fs::set_permissions(site.config(), Permissions::from_mode(0o600)).unwrap();
    check(&site).exits(78).warns("cannot be read by daemon");
}
