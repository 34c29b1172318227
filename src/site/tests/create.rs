use std::os::unix::fs::{FileTypeExt, symlink};

use super::*;

const MODES: [(&str, u32); 12] = [
    ("", 0o2750),
    (".pressroom", 0o640),
    ("cache", 0o2750),
    ("work", 0o700),
    ("log", 0o700),
    ("tick.lock", 0o600),
    ("tick.next", 0o600),
    ("queue", 0o2770),
    ("queue/pressroom.db", 0o660),
    ("queue/doorbell", 0o660),
    ("queue/reserve", 0o660),
    ("../..", 0o755),
];

#[test]
fn every_mode_is_right_under_any_umask() {
    for umask in ["022", "077", "000", "0777"] {
        if inside("site::tests::create::every_mode_is_right_under_any_umask", umask) {
            let dir = tempfile::tempdir().unwrap();
            set_mode(dir.path(), 0o700);
            let state = dir.path().join("new/deep/state");
            Site::create(&config(&state), None, None).unwrap();
            for (path, expected) in MODES {
                assert_eq!(mode(&state.join(path)), expected, "{path}");
            }
            assert!(fs::metadata(state.join("queue/doorbell")).unwrap().file_type().is_fifo());
            return;
        }
    }
}

#[test]
fn the_reserve_has_its_blocks() {
    let world = World::new();
    let reserve = fs::metadata(world.site.reserve()).unwrap();
    assert_eq!(reserve.len(), 1 << 20);
    assert!(reserve.blocks() * 512 >= 1 << 20);
}

#[test]
fn done_again_it_does_nothing_and_finds_nothing_wrong() {
    let world = World::new();
    assert_eq!(Site::create(&world.config, None, None).unwrap(), Vec::<String>::new());
    assert_eq!(world.site.problems(&world.config), Vec::<String>::new());
}

#[test]
fn what_was_changed_is_named_and_put_right() {
    let world = World::new();
    set_mode(&world.site.cache(), 0o755);
    fs::remove_file(world.site.doorbell()).unwrap();
    let problems = world.site.problems(&world.config);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("cache has mode 0755, not 2750; run `pressroom check --create"), "{problems:?}");
    let done = Site::create(&world.config, None, None).unwrap();
    assert_eq!(done.len(), 2, "{done:?}");
    assert_eq!(world.site.problems(&world.config), Vec::<String>::new());
}

#[test]
fn a_directory_with_foreign_files_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "").unwrap();
    let error = Site::create(&config(dir.path()), None, None).unwrap_err().to_string();
    assert!(error.contains("nor empty (it contains thesis.txt)"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(matches!(Site::open(&config(dir.path())), Err(SiteError::NotOurs(_))));
}

#[test]
fn what_was_interrupted_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".pressroom"), "").unwrap();
    fs::create_dir(dir.path().join("cache")).unwrap();
    Site::create(&config(dir.path()), None, None).unwrap();
    let site = Site::open(&config(dir.path())).unwrap();
    assert_eq!(site.problems(&config(dir.path())), Vec::<String>::new());
}

#[test]
fn an_empty_directory_is_taken_and_so_is_a_fresh_file_system() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    Site::create(&config(dir.path()), None, None).unwrap();
    assert!(Site::open(&config(dir.path())).is_ok());
}

#[test]
fn a_marker_that_is_not_ours_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".pressroom"), "settings of another program").unwrap();
    assert!(Site::create(&config(dir.path()), None, None).is_err());
    fs::remove_file(dir.path().join(".pressroom")).unwrap();
    symlink("/etc/passwd", dir.path().join(".pressroom")).unwrap();
    assert!(Site::create(&config(dir.path()), None, None).is_err());
    assert!(matches!(Site::open(&config(dir.path())), Err(SiteError::NotOurs(_))));
}

#[test]
fn nothing_is_made_through_a_link_below_the_state_directory() {
    let world = World::new();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::remove_dir(world.site.cache()).unwrap();
    symlink(elsewhere.path(), world.site.cache()).unwrap();
    let error = Site::create(&world.config, None, None).unwrap_err().to_string();
    assert!(error.contains("cache is not a directory; move it away"), "{error}");
}

#[test]
fn the_state_directory_itself_may_be_reached_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    symlink(dir.path().join("data"), dir.path().join("state")).unwrap();
    Site::create(&config(&dir.path().join("state")), None, None).unwrap();
    assert_eq!(mode(&dir.path().join("data")), 0o2750);
    assert!(fs::symlink_metadata(dir.path().join("state")).unwrap().is_symlink());
}

#[test]
fn a_missing_state_directory_says_what_to_run() {
    let error = Site::open(&config(Path::new("/nonexistent/state"))).unwrap_err();
    assert!(matches!(error, SiteError::Missing(_)));
    assert!(error.to_string().ends_with("run `pressroom check --create`"), "{error}");
}

#[test]
fn root_gives_it_to_a_user_and_a_group_and_keeps_them_later() {
    if !Uid::effective().is_root() {
        crate::outside::skipped(
            "root_gives_it_to_a_user_and_a_group_and_keeps_them_later",
            "only root can give a state directory away",
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let config = config(&dir.path().join("state"));
    Site::create(&config, Some("nobody"), None).unwrap();
    assert_eq!(Site::create(&config, None, None).unwrap(), Vec::<String>::new());
    let site = Site::open(&config).unwrap();
    assert_eq!(site.owner().unwrap(), "nobody");
    assert_eq!(site.problems(&config), Vec::<String>::new());
    assert_eq!(mode(&site.cache()), 0o2750);
    for path in ["", "cache", "work", "queue/pressroom.db", "tick.lock"] {
        let about = fs::metadata(site.state_dir().join(path)).unwrap();
        assert_eq!((about.uid(), about.gid()), (NOBODY, NOBODY), "{path}");
    }
}

#[test]
fn a_user_outside_the_group_is_told_how_to_join_it() {
    if !Uid::effective().is_root() {
        crate::outside::skipped(
            "a_user_outside_the_group_is_told_how_to_join_it",
            "only root can give a state directory away",
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let create = |user, group| Site::create(&config(&dir.path().join("state")), user, group).unwrap_err().to_string();
    assert!(create(Some("nobody"), Some("daemon")).contains("run `usermod -aG daemon nobody`"));
    assert_eq!(create(Some("no-such-user"), None), "there is no user no-such-user");
    assert_eq!(create(None, Some("no-such-group")), "there is no group no-such-group");
    assert!(!dir.path().join("state").exists());
}

#[test]
fn a_user_cannot_give_it_to_another() {
    if inside("site::tests::create::a_user_cannot_give_it_to_another", "022") {
        let dir = tempfile::tempdir().unwrap();
        let error = Site::create(&config(&dir.path().join("state")), Some("root"), None).unwrap_err();
        assert!(error.to_string().starts_with("only root can make"), "{error}");
    }
}

#[test]
fn files_that_the_web_user_made_beside_the_database_are_shared_and_no_problem() {
    let world = World::new();
    let wal = world.dir.path().join("state/queue/pressroom.db-wal");
    fs::write(&wal, "").unwrap();
    set_mode(&wal, 0o600);
    Site::create(&world.config, None, None).unwrap();
    assert_eq!(mode(&wal), 0o660);
}
