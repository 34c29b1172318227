//! The Debian package in a clean Debian system: installed, used through cron, upgraded, removed, purged.
//!
//! The system is made by debootstrap once and kept in target/; each run works in a copy, in namespaces of its own, so
//! that whatever it starts is gone at its end.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::support::outside::skipped;

const NAME: &str = "a_package_is_installed_used_upgraded_and_purged";
/// Seconds. On a slow day debootstrap needs four minutes.
const MAKING: &str = "600";
const LIVING: &str = "500";
const OLD: &str = "0.1.0";
const NEW: &str = "0.1.1";

#[test]
fn a_package_is_installed_used_upgraded_and_purged() {
    let world = match pristine().and_then(|root| completions().map(|written| (root, written))) {
        Ok(world) => world,
        Err(reason) => return skipped(NAME, &reason),
    };
    let (root, written) = world;
    let copy = TempDir::new_in(target()).unwrap();
    let root = copied(&root, copy.path());
    packages(&written, &root.join("package"));
    let mut inside = Command::new("timeout");
    inside.args(["--kill-after=10", LIVING, "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
    inside.arg(format!("--mount-proc={}", root.join("proc").display())).arg("chroot").arg(&root);
    let done = inside.args(["/package/inside.sh"]).env("NEW", NEW).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{:?}\n{out}\n{err}", done.status);
    assert!(out.ends_with("== done\n"), "{out}\n{err}");
}

/// The directory of all that is built, in which a copy of the system is on the same disk as the original.
fn target() -> PathBuf {
    let profile = Path::new(env!("CARGO_BIN_EXE_pressroom")).parent().unwrap();
    profile.parent().unwrap().to_owned()
}

/// A clean system of this machine's own release.
fn pristine() -> Result<PathBuf, String> {
    let root = target().join("debian-root");
    if root.join("etc/debian_version").exists() {
        return Ok(root);
    }
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |key: &str| release.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    let code = field("VERSION_CODENAME=");
    if field("ID=") != "debian" || !nix::unistd::Uid::effective().is_root() {
        return Err("needs Debian and root".into());
    }
    let new = TempDir::new_in(target()).map_err(|error| error.to_string())?;
    let path = format!("{}:/usr/sbin:/sbin", env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.args([MAKING, "debootstrap", "--variant=minbase", "--include=cron", &code]).arg(new.path());
    match command.env("PATH", path).output() {
        Ok(done) if done.status.success() => {}
        _ => return Err("debootstrap cannot make a clean system here".into()),
    }
    // A test beside this one, in another process, may have been faster.
    let _ = fs::rename(new.keep(), &root);
    Ok(root)
}

fn copied(root: &Path, into: &Path) -> PathBuf {
    let copy = into.join("root");
    let done = Command::new("cp").args(["-a", "--reflink=auto"]).arg(root).arg(&copy).status().unwrap();
    assert!(done.success());
    copy
}

/// `cargo test` builds the examples first; `cargo test --test it` does not.
fn completions() -> Result<PathBuf, String> {
    let program = env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/completions");
    let directory = target().join("completions");
    match Command::new(program).arg(&directory).status() {
        Ok(done) if done.success() => Ok(directory),
        _ => Err("the example completions is not built; run `cargo build --examples`".into()),
    }
}

/// Two packages of the program as it was built for the tests, and what the test does with them.
fn packages(completions: &Path, into: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir(into).unwrap();
    let program = into.join("pressroom");
    let stripped = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_pressroom")).status();
    assert!(stripped.unwrap().success());
    for (version, name) in [(OLD, "old.deb"), (NEW, "new.deb")] {
        let mut packer = Command::new(source.join("packaging/deb.sh"));
        let made = packer
            .arg(&program)
            .arg(into)
            .arg(version)
            .env("COMPLETIONS", completions)
            .env("COMPRESSION", "none")
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::rename(String::from_utf8(made.stdout).unwrap().trim(), into.join(name)).unwrap();
    }
    fs::copy(source.join("packaging/systemd/pressroom.timer"), into.join("pressroom.timer")).unwrap();
    fs::copy(source.join("tests/it/package/inside.sh"), into.join("inside.sh")).unwrap();
}
