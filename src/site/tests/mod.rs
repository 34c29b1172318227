//! State directories on a real disk. Also what other rooms' tests need of it: another umask or user, a small disk.

mod create;
mod lock;
mod rest;
mod work;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::Command,
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use nix::unistd::Uid;
use tempfile::TempDir;

use super::*;
use crate::{
    config::{
        CacheRules, ClientSource, EnqueueOn, HistoryRules, HostRules, HttpRules, LogRules, Sendfile, StatusRules,
    },
    model::client::ClientNames,
};

static ATTEMPT: LazyLock<AttemptId> = LazyLock::new(|| AttemptId::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap());
const NOBODY: u32 = 65534;

/// Runs the test `name` again in a process with this umask and, if we are root, as nobody. `true`: this is that process.
pub fn inside(name: &str, umask: &str) -> bool {
    inside_as(name, umask, NOBODY)
}

fn inside_as(name: &str, umask: &str, user: u32) -> bool {
    if env::var_os("PRESSROOM_TEST_INSIDE").is_some() {
        return true;
    }
    let script = "umask \"$1\"; shift; exec \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", umask]).arg(env::current_exe().unwrap()).args([name, "--exact"]);
    if Uid::effective().is_root() {
        shell.uid(user).gid(user);
    }
    let ended = shell.env("PRESSROOM_TEST_INSIDE", umask).output().unwrap();
    if matches!(ended.status.code(), Some(126 | 127)) {
        crate::outside::skipped(name, "another user cannot run the tests from here");
        return false;
    }
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A tmpfs of a given size. Only root can have one.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    pub fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir.path()).output();
        if mount.is_ok_and(|mount| mount.status.success()) {
            return Some(Self(dir));
        }
        println!("skipped: a tmpfs cannot be mounted here");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn fill(&self) {
        let _ = fs::write(self.path().join("filler"), vec![b'x'; 64 << 20]);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn config(state_dir: &Path) -> Config {
    let minute = Duration::from_mins(1);
    Config {
        time_zone: None,
        file: state_dir.join("pressroom.toml"),
        state_dir: state_dir.to_owned(),
        database: state_dir.join("queue/pressroom.db"),
        client_names: ClientNames::Hashed,
        cache: CacheRules { ttl: None, grace: minute, stale: Duration::ZERO, max_size: 0, min_free: 0 },
        host: HostRules { max_running: 1, min_free_memory: 0 },
        queues: BTreeMap::new(),
        http: HttpRules {
            enqueue_on: EnqueueOn::Get,
            client: ClientSource::Variable(String::new()),
            max_wait: Duration::ZERO,
            max_waiters: 0,
            refresh: None,
            failed_status: (500, 504),
            pending_status: 503,
            sendfile: Sendfile::Off,
            templates: None,
        },
        exporters: BTreeMap::new(),
        schedules: BTreeMap::new(),
        notify: None,
        status: StatusRules::default(),
        log: LogRules { activity: None, activity_max: 0 },
        history: HistoryRules { keep: minute, keep_ok_logs: minute, max_size: 1 << 30 },
        broken: OnceLock::new(),
    }
}

/// A directory with a state directory in it.
struct World {
    dir: TempDir,
    config: Config,
    site: Site,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = config(&dir.path().join("state"));
        Site::create(&config, None, None).unwrap();
        let site = Site::open(&config).unwrap();
        Self { dir, config, site }
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
