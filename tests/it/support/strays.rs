//! Who is left over, looked for over /proc: by the cookie, by the leader's session, by the site's directory.

use std::{fs, os::unix::ffi::OsStrExt, path::Path};

use super::site::Site;

/// Leaders' sessions as they are written in the locks that still lie in `work/`.
fn sessions(site: &Site) -> Vec<String> {
    let names = site.names("s/work");
    let notes = names.iter().filter_map(|name| name.strip_suffix(".lock"));
    let texts = notes.filter_map(|id| fs::read_to_string(site.path("s/work").join(format!("{id}.lock"))).ok());
    texts.filter_map(|text| Some(text.lines().find_map(|line| line.strip_prefix("session "))?.to_owned())).collect()
}

/// Every living process that belongs to an attempt of this site, one line each. Programs of ours that still work on
/// the site are among them.
pub fn strays(site: &Site) -> Vec<String> {
    let sessions = sessions(site);
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let processes = entries.map(|entry| entry.path()).filter(|path| path.join("stat").exists());
    processes.filter_map(|path| belongs(&path, site.dir(), &sessions)).collect()
}

fn belongs(process: &Path, dir: &Path, sessions: &[String]) -> Option<String> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None; // whoever is to reap it
    }
    let session = fields.get(3).is_some_and(|session| sessions.iter().any(|known| known == session));
    let named = ["environ", "cmdline"].iter().any(|file| mentions(&process.join(file), dir));
    let inside = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
    (session || named || inside).then(|| format!("{}: {stat}", process.display()))
}

fn mentions(file: &Path, dir: &Path) -> bool {
    let dir = dir.as_os_str().as_bytes();
    fs::read(file).is_ok_and(|text| text.windows(dir.len()).any(|part| part == dir))
}

#[track_caller]
pub fn nobody_is_left(site: &Site) {
    let strays = strays(site);
    assert!(strays.is_empty(), "left over:\n{}", strays.join(""));
}
