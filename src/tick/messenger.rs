//! Runs a command that is told something on its stdin. Neither one that does not read nor one that does not end may
//! hold up the tick.

use std::{
    io::{self, ErrorKind, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::supervise::with_file_limit;

const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// Runs the command in a process group of its own, which is ended after ten seconds.
pub fn send(command: &[String], message: &str) -> io::Result<()> {
    let (program, args) = command.split_first().ok_or_else(|| io::Error::other("it is empty"))?;
    let mut command = Command::new(program);
    command.args(args).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = with_file_limit(|| command.spawn())?;
    let sent = deliver(&mut child, message.as_bytes());
    if !matches!(sent, Ok(true)) {
        let group = i32::try_from(child.id()).map_err(io::Error::other)?;
        // It is not reaped yet, so its number is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        child.wait()?;
    }
    if sent? { Ok(()) } else { Err(io::Error::other("it took more than 10 s and was ended")) }
}

/// `false`: the time is over. What is not read is no fault of the message.
fn deliver(child: &mut Child, mut rest: &[u8]) -> io::Result<bool> {
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &stdin {
        fcntl(stdin, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if !feed(stdin.as_mut(), &mut rest) {
            stdin = None;
        }
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(true) } else { Err(io::Error::other(status.to_string())) };
        }
        sleep(PAUSE);
    }
    Ok(false)
}

/// Writes what the pipe takes. `false`: that was all, or nobody reads any more.
fn feed(stdin: Option<&mut ChildStdin>, rest: &mut &[u8]) -> bool {
    let Some(stdin) = stdin else { return false };
    while !rest.is_empty() {
        match stdin.write(rest) {
            Ok(length) => *rest = &rest[length..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
    false
}
