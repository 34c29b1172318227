//! Large files through the web front: constant memory, and a first byte as soon as that of a small file.

use std::{
    fs::{self, File},
    io::Read,
    process::{Child, Stdio},
};

use crate::support::{
    site::{Site, kill, wait_until},
    web::{cgi, site},
};

const GIB: u64 = 1 << 30;

/// A site with a file of 1 GiB, most of which is a hole.
fn with_large_file() -> Site {
    let site = site().create();
    site.ask("Emma").exits(75);
    site.tick().exits(0);
    let file = File::options().write(true).open(site.cached("epub/Emma.epub")).unwrap();
    file.set_len(GIB).unwrap();
    site
}

fn serve(site: &Site) -> Child {
    cgi(site, "GET", "/epub", "title=Emma").stdout(Stdio::piped()).spawn().unwrap()
}

/// Kilobytes of a line of `/proc/PID/status`.
fn kilobytes(child: &Child, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let found = status.lines().find_map(|text| text.strip_prefix(line)).unwrap_or("0");
    found.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_gigabyte_passes_in_constant_memory() {
    let site = with_large_file();
    let mut child = serve(&site);
    let mut out = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut have = 0;
    let mut early = 0;
    loop {
        let count = out.read(&mut buffer).unwrap();
        have += count as u64;
        if early == 0 {
            early = kilobytes(&child, "VmHWM:");
        }
        // While the last megabytes are still to come.
        if count == 0 || have > GIB - (8 << 20) {
            break;
        }
    }
    let late = kilobytes(&child, "VmHWM:");
    assert!(late < early + 2048 && late < 64 * 1024, "{early} kB grew to {late} kB");
    have += std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(have > GIB && have < GIB + 4096);
}

#[test]
fn the_first_byte_waits_for_no_other() {
    let site = with_large_file();
    let mut child = serve(&site);
    let mut first = [0; 16];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Status: 200 OK\r\n");
    // It has read no more of the file than the pipe takes: the rest is read as the visitor takes it.
    wait_until("the pipe is full", || {
        let state = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    });
    let io = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
    let read: u64 = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap();
    assert!(read < 4 << 20, "{read} bytes read");
    kill(child);
}
