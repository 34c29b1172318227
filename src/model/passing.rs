//! Errors that are the machine's, and may be over soon: nothing that was asked for is at fault.

use std::{error::Error, fmt, io};

use nix::errno::Errno;

/// What helps against such an error; `None`: it is another one. The system's own error may lie below others.
pub fn advice(error: &io::Error) -> Option<&'static str> {
    let number = error.raw_os_error().or_else(|| below(error.get_ref()?))?;
    Some(match Errno::from_raw(number) {
        Errno::EAGAIN => "this user has too many processes, or the machine has: raise ulimit -u, or TasksMax of cron",
        Errno::ENOMEM => "memory is short: free some, or raise ulimit -v",
        Errno::EMFILE => "too many files are open in one process: raise ulimit -n",
        Errno::ENFILE => "too many files are open on this machine: raise fs.file-max",
        Errno::ENOSPC => "the disk is full: free some space",
        Errno::EDQUOT => "the quota is used up: free some space, or raise it",
        _ => return None,
    })
}

/// The same for a chain of errors.
pub fn advice_for(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| advice(cause.downcast_ref()?))
}

fn below(error: &(dyn Error + Send + Sync + 'static)) -> Option<i32> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(number);
        }
        cause = error.source();
    }
    None
}

/// An error of the same kind that says what could not be done, and keeps the system's own below it.
pub fn with_cause(what: &str, cause: &io::Error) -> io::Error {
    let number = cause.raw_os_error().map(io::Error::from_raw_os_error);
    io::Error::new(cause.kind(), Told { sentence: format!("{what}: {cause}"), cause: number })
}

#[derive(Debug)]
struct Told {
    sentence: String,
    cause: Option<io::Error>,
}

impl fmt::Display for Told {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.sentence)
    }
}

impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_errors_are_known_below_a_sentence_and_others_are_not() {
        let error = |number: Errno| io::Error::from_raw_os_error(number as i32);
        for passing in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE, Errno::ENOSPC, Errno::EDQUOT] {
            let told = with_cause("cannot read /proc", &error(passing));
            assert!(advice(&error(passing)).is_some() && advice(&told).is_some(), "{passing}");
            assert!(advice_for(&anyhow::Error::new(told).context("claim")).is_some());
        }
        for other in [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC, Errno::E2BIG, Errno::EFBIG] {
            assert_eq!(advice(&with_cause("cannot execute it", &error(other))), None, "{other}");
        }
        assert_eq!(advice(&io::Error::other("it is empty")), None);
    }
}
