//! What the other test programs know of programs that are not built here.

pub use shared::{assert_valid_epub, has, has_file, skipped};

#[path = "../../outside/mod.rs"]
mod shared;

/// Whether the test runs as root, which it needs for what it says; if not, it is told as skipped.
pub fn is_root(test: &str, why: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skipped(test, why);
    }
    root
}

/// Whether mounts of its own can be made for a process, likewise.
pub fn has_mounts(test: &str) -> bool {
    let made = || std::process::Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|it| it.success());
    let can = nix::unistd::geteuid().is_root() && made();
    if !can {
        skipped(test, "needs root and mount namespaces");
    }
    can
}
