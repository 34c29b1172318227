//! Whether execve(2) would take a file: a binary for this machine, a script, or a format registered with the kernel.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::Path,
};

use nix::unistd::{AccessFlags, access};

/// What the kernel reads of a file to recognise it.
const START: u64 = 256;
/// The formats that were registered with binfmt_misc, one file each.
const REGISTERED: &str = "/proc/sys/fs/binfmt_misc";
/// The first bytes of a binary that this machine runs by itself.
const ELF: &[u8] = b"\x7fELF";

/// Why it could not be executed, although its mode allows it.
pub(super) fn problem(file: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(START).read_to_end(&mut start).ok()?; // unreadable but executable is fine
    if is_registered(Path::new(REGISTERED), file, &start) {
        return None;
    }
    let name = file.display();
    if start.starts_with(ELF) {
        return (!is_native(&start)).then(|| format!("the program {name} is a binary for another kind of machine"));
    }
    let Some(rest) = start.strip_prefix(b"#!") else {
        return Some(format!(
            "the program {name} has no #! line and is not a binary, so it cannot be executed; its format is not \
             registered with the kernel either"
        ));
    };
    let interpreter = interpreter(rest);
    let path = Path::new(&interpreter);
    let runs = path.is_absolute() && path.is_file() && access(path, AccessFlags::X_OK).is_ok();
    (!runs).then(|| format!("the program {name} needs {interpreter:?}, {}", lack(path)))
}

fn lack(interpreter: &Path) -> &'static str {
    match (interpreter.is_absolute(), interpreter.is_file()) {
        (true, true) => "which is not executable for this user; look at its mode",
        (true, false) => "which does not exist; install it, or correct the first line",
        (false, _) => "which is not an absolute path; correct the first line",
    }
}

/// As the kernel reads it: up to a space or a tab. A carriage return belongs to the name.
fn interpreter(rest: &[u8]) -> String {
    let line = rest.split(|byte| *byte == b'\n' || *byte == 0).next().unwrap_or_default();
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let line = &line[line.iter().take_while(|byte| blank(byte)).count()..];
    let end = line.iter().position(blank).unwrap_or(line.len());
    String::from_utf8_lossy(&line[..end]).into_owned()
}

/// Whether the machine in the header is ours, or the smaller one that ours can run as well.
fn is_native(start: &[u8]) -> bool {
    const MACHINE: std::ops::Range<usize> = 18..20;
    let ours: &[[u8; 2]] = match std::env::consts::ARCH {
        "x86_64" => &[[62, 0], [3, 0]],
        "aarch64" => &[[183, 0], [40, 0]],
        _ => return true,
    };
    start.get(MACHINE).is_some_and(|machine| ours.iter().any(|one| one == machine))
}

/// Whether a format that is registered in `dir` and enabled recognises the file.
fn is_registered(dir: &Path, file: &Path, start: &[u8]) -> bool {
    let is_on = |name: &str| fs::read_to_string(dir.join(name)).is_ok_and(|text| text.starts_with("enabled"));
    let Some(formats) = fs::read_dir(dir).ok().filter(|_| is_on("status")) else { return false };
    let names = formats.flatten().map(|entry| entry.file_name()).filter(|name| name != "status" && name != "register");
    names.filter_map(|name| fs::read_to_string(dir.join(name)).ok()).any(|text| recognises(&text, file, start))
}

/// `text` is what binfmt_misc tells about one format: a state, then a name and a value on each line.
fn recognises(text: &str, file: &Path, start: &[u8]) -> bool {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if text.lines().next() != Some("enabled") {
        return false;
    }
    if let Some(extension) = field("extension ") {
        return file.extension() == Some(OsStr::new(extension.trim_start_matches('.')));
    }
    let Some(magic) = field("magic ").and_then(bytes) else { return false };
    let mask = field("mask ").and_then(bytes).unwrap_or_else(|| vec![0xff; magic.len()]);
    let offset = field("offset ").and_then(|offset| offset.parse::<usize>().ok()).unwrap_or(0);
    let Some(found) = start.get(offset..).filter(|found| found.len() >= magic.len()) else { return false };
    magic.iter().zip(found).zip(mask).all(|((wanted, found), mask)| (wanted ^ found) & mask == 0)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(dir: &Path, name: &str, start: &[u8]) -> std::path::PathBuf {
        let file = dir.join(name);
        fs::write(&file, start).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn a_format_registered_with_the_kernel_can_be_executed() {
        let dir = tempfile::tempdir().unwrap();
        let register = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let (jar, start) = (Path::new("/usr/bin/epubcheck"), b"PK\x03\x04more of it");
        let known = || is_registered(dir.path(), jar, start);
        assert!(!known());
        register("status", "enabled\n");
        register("jar", "enabled\ninterpreter /usr/bin/jexec\nflags: \noffset 0\nmagic 504b0304\n");
        assert!(known());
        register("jar", "enabled\ninterpreter /usr/bin/jexec\nflags: \noffset 0\nmagic 504b0000\nmask ffff0000\n");
        assert!(known());
        register("jar", "enabled\ninterpreter /x\nflags: \noffset 4\nmagic 6d6f7265\n");
        assert!(known());
        for other in ["disabled\nmagic 504b0304\n", "enabled\noffset 300\nmagic 50\n", "enabled\nextension .jar\n"] {
            register("jar", other);
            assert!(!known(), "{other}");
        }
        assert!(is_registered(dir.path(), Path::new("/opt/a.jar"), start));
        register("status", "disabled\n");
        assert!(!is_registered(dir.path(), Path::new("/opt/a.jar"), start));
    }

    #[test]
    fn what_the_kernel_would_refuse_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        let told = |start: &[u8]| problem(&program(dir.path(), "program", start)).unwrap_or_default();
        assert_eq!(problem(&std::env::current_exe().unwrap()), None);
        assert_eq!((told(b"#!/bin/sh\n"), told(b"#! \t/bin/sh -e\n")), (String::new(), String::new()));
        assert!(told(b"#!/bin/sh\r\n").contains("needs \"/bin/sh\\r\", which does not exist"));
        assert!(told(b"#!bin/sh\n").contains("is not an absolute path"));
        assert!(told(b"#!/etc/passwd\n").contains("is not executable"));
        assert!(told(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0").contains("another kind of machine"));
        assert!(told(b"PK\x03\x04").contains("has no #! line and is not a binary"));
        assert!(told(b"").contains("has no #! line"));
    }
}
