//! What must not happen, whatever lies in `queue/`: a file outside the state directory is read or changed, a process
//! that is none of an attempt's is signalled.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

use super::World;
use crate::support::accounts::CRON;

/// A tree of private files, and a process, of the crontab's user; and the files of an exporter that no visitor may see.
pub struct Oracle {
    dir: PathBuf,
    before: BTreeMap<PathBuf, (Vec<u8>, u64, i64, u32)>,
}

impl Oracle {
    pub fn watch(world: &World) -> Self {
        let dir = world.site.path("canary");
        fs::create_dir_all(dir.join("private/.ssh")).expect("a directory");
        for (name, text) in [("private/.ssh/id_ed25519", "secret"), ("backup.log", "secret"), ("x.lock", "run 1 1\n")] {
            let path = dir.join(name);
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        if let Some(cron) = super::cron_number() {
            for name in ["", "private", "private/.ssh", "private/.ssh/id_ed25519", "backup.log", "x.lock"] {
                std::os::unix::fs::chown(dir.join(name), Some(cron), None).expect("an owner");
            }
        }
        let before = seen(&dir);
        Self { dir, before }
    }

    /// The private tree is as it was, to the byte and the time.
    #[track_caller]
    pub fn is_content(&self, after: &str) {
        assert_eq!(seen(&self.dir), self.before, "the private tree has changed after {after}");
    }

    /// Runs a command of the crontab's user under strace and judges each of its system calls, and its children's.
    #[track_caller]
    pub fn strace(&self, world: &World, words: &str) {
        let log = world.site.path("strace");
        let program = world.program.as_ref().expect("two users");
        let traced = "trace=openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,\
                      mkdir,mkdirat,rmdir,truncate,chmod,fchmodat,chown,fchownat,lchown,kill,tkill,tgkill,pidfd_open,\
                      pidfd_send_signal,execve";
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-y", "-s", "4096", "-e", "signal=none", "-e", traced, "-o"]).arg(&log);
        command.args(["setpriv", "--reuid", CRON, "--regid", CRON, "--init-groups"]).arg(program);
        command.args(words.split(' ')).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        let done = command.env("PRESSROOM_CONFIG", world.site.config()).output().expect("strace");
        let text = fs::read_to_string(&log).unwrap_or_default();
        assert!(text.contains("execve"), "{}", String::from_utf8_lossy(&done.stderr));
        let own: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        for line in text.lines() {
            self.judge(world, line, &own);
        }
    }

    #[track_caller]
    fn judge(&self, world: &World, line: &str, own: &BTreeSet<&str>) {
        let Some((pid, call)) = line.split_once(' ') else { return };
        let (name, rest) = call.trim_start().split_once('(').unwrap_or((call, ""));
        if let "kill" | "tkill" | "tgkill" | "pidfd_open" = name {
            let target = rest.split([',', ')']).next().unwrap_or_default().trim_start_matches('-');
            assert!(target == "0" || target == pid || own.contains(target), "a stranger is signalled: {line}");
        }
        let changes = name != "execve" && !name.starts_with("open")
            || ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| rest.contains(flag));
        for path in paths(rest) {
            assert!(!path.starts_with(&self.dir), "private files are touched: {line}");
            assert!(!changes || is_ours(world, &path), "something outside the state directory is changed: {line}");
        }
    }
}

fn is_ours(world: &World, path: &Path) -> bool {
    let below = [world.site.path("s"), "/dev".into(), "/proc".into(), "/sys".into()];
    let is_plain = !path.components().any(|part| part.as_os_str() == "..");
    is_plain && below.iter().any(|dir| path.starts_with(dir))
}

/// The paths of a call: each name, together with the directory that stands before it.
fn paths(arguments: &str) -> Vec<PathBuf> {
    let (mut found, mut dir) = (Vec::new(), PathBuf::from("/"));
    for part in arguments.split(", ") {
        if let Some((_, base)) = part.split_once('<').filter(|_| !part.starts_with('"')) {
            dir = base.split('>').next().unwrap_or_default().into();
        } else if let Some(name) = part.strip_prefix('"') {
            found.push(dir.join(name.split('"').next().unwrap_or_default()));
        }
    }
    found
}

fn seen(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u64, i64, u32)> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).expect("the private tree is there").flatten() {
            let about = entry.metadata().expect("a look");
            if about.is_dir() {
                left.push(entry.path());
            }
            let text = if about.is_file() { fs::read(entry.path()).expect("its text") } else { Vec::new() };
            let changed = about.mtime_nsec() + 1_000_000_000 * about.mtime();
            found.insert(entry.path(), (text, about.ino(), changed, about.mode()));
        }
    }
    found
}
