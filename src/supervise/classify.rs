//! How an exporter ended and what it used, and what really ended the attempt. Pure.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::model::{limits::Limits, status::Outcome};

/// Exit codes that are part of the contract: bad input, temporary failure. No guess replaces them.
const SPOKEN: [i32; 2] = [65, 75];

/// `Outcome::Ok` means that the exporter claims success; whether its file is acceptable is for the cache to say.
/// An attempt that was taken from us is `Lost`, and one of which nobody knows how it ended.
pub fn classify(ending: &ProcessResult, limits: &Limits) -> Outcome {
    match (ending.asked, ending.exit_code) {
        (Some(reason), _) => asked(reason),
        (None, Some(0)) if ending.output_at_limit => Outcome::FileSize,
        (None, Some(0)) => Outcome::Ok,
        (None, Some(code)) if SPOKEN.contains(&code) => Outcome::Exit,
        (None, None) if ending.signal.is_none() => Outcome::Lost,
        (None, _) => failed(ending, limits),
    }
}

const fn asked(reason: EndedBy) -> Outcome {
    match reason {
        EndedBy::Timeout => Outcome::Timeout,
        EndedBy::Cpu => Outcome::Cpu,
        EndedBy::Memory => Outcome::Memory,
        EndedBy::WorkSize => Outcome::FileSize,
        EndedBy::Cancel => Outcome::Cancelled,
        EndedBy::Shutdown => Outcome::Shutdown,
        EndedBy::Taken => Outcome::Lost,
    }
}

fn failed(ending: &ProcessResult, limits: &Limits) -> Outcome {
    if ended_by(ending, Signal::SIGXCPU) {
        Outcome::Cpu
    } else if ended_by(ending, Signal::SIGXFSZ) || bare_xfsz(ending, limits) || ending.file_at_limit {
        Outcome::FileSize
    } else if limits.memory.is_some_and(|limit| nearly(ending.peak_memory, limit)) {
        Outcome::Memory
    } else if limits.cpu.is_some_and(|limit| nearly(micros(ending.cpu_used), micros(limit))) {
        Outcome::Cpu
    } else if ending.signal.is_some() {
        Outcome::Signal
    } else {
        Outcome::Exit
    }
}

/// The leader died of the signal, or says as shells do that its child did.
fn ended_by(ending: &ProcessResult, signal: Signal) -> bool {
    ending.signal == Some(signal as i32) || ending.exit_code == Some(128 + signal as i32)
}

/// `ImageMagick` answers SIGXFSZ with the bare number as its exit code.
fn bare_xfsz(ending: &ProcessResult, limits: &Limits) -> bool {
    limits.file_size.is_some() && ending.exit_code == Some(Signal::SIGXFSZ as i32)
}

/// A tree that failed with 95 % of a limit used was refused the rest, or was ended by the kernel's own limit.
fn nearly(used: u64, limit: u64) -> bool {
    u128::from(used) * 100 >= u128::from(limit) * 95
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Why the run asked the tree to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    Timeout,
    Cpu,
    Memory,
    WorkSize,
    Cancel,
    Shutdown,
    /// The attempt is no longer ours.
    Taken,
}

/// The facts of one ended attempt. The tree is gone when this exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessResult {
    /// Of the leader. Without it and without a signal nobody knows how it ended.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// If set, exit code and file mean nothing.
    pub asked: Option<EndedBy>,
    /// From the start to the leader's end, suspend included.
    pub duration: Duration,
    /// Bytes of the whole tree.
    pub peak_memory: u64,
    /// User and system time of the whole tree.
    pub cpu_used: Duration,
    /// The most processes that were seen at once.
    pub peak_processes: usize,
    /// Bytes that the exporter had in its work directory at most.
    pub peak_work: u64,
    /// Bytes of the largest file that lies there at the end.
    pub largest_file: u64,
    /// The end of the log, at most 4 KiB, fit to be shown.
    pub log_tail: String,
    /// What the exporter said to the visitor.
    pub message: Option<String>,
    /// A file of exactly `file_size` bytes lies in the work directory.
    pub file_at_limit: bool,
    /// The output has exactly `file_size` bytes.
    pub output_at_limit: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            timeout: Duration::from_mins(1),
            kill_after: Duration::from_secs(5),
            memory: Some(1000),
            cpu: Some(Duration::from_secs(100)),
            file_size: Some(500),
            ..Limits::default()
        }
    }

    fn exit(code: i32) -> ProcessResult {
        ProcessResult { exit_code: Some(code), ..ProcessResult::default() }
    }

    fn signal(signal: Signal) -> ProcessResult {
        ProcessResult { signal: Some(signal as i32), ..ProcessResult::default() }
    }

    #[track_caller]
    fn is(ending: &ProcessResult, outcome: Outcome) {
        assert_eq!(classify(ending, &limits()), outcome, "{ending:?}");
    }

    #[test]
    fn once_asked_to_end_an_exit_code_means_nothing() {
        is(&ProcessResult { asked: Some(EndedBy::Timeout), ..exit(0) }, Outcome::Timeout);
        is(&ProcessResult { asked: Some(EndedBy::WorkSize), ..exit(65) }, Outcome::FileSize);
        is(&ProcessResult { asked: Some(EndedBy::Taken), ..exit(0) }, Outcome::Lost);
    }

    #[test]
    fn a_limit_that_the_kernel_enforced_is_recognised() {
        is(&signal(Signal::SIGXCPU), Outcome::Cpu);
        is(&exit(152), Outcome::Cpu);
        is(&signal(Signal::SIGXFSZ), Outcome::FileSize);
        is(&exit(153), Outcome::FileSize);
        is(&exit(25), Outcome::FileSize);
        is(&ProcessResult { file_at_limit: true, ..exit(1) }, Outcome::FileSize);
        is(&ProcessResult { cpu_used: Duration::from_secs(95), ..signal(Signal::SIGKILL) }, Outcome::Cpu);
        is(&ProcessResult { peak_memory: 950, ..exit(1) }, Outcome::Memory);
    }

    #[test]
    fn a_success_that_used_much_is_a_success() {
        is(
            &ProcessResult { peak_memory: 999, cpu_used: Duration::from_secs(99), file_at_limit: true, ..exit(0) },
            Outcome::Ok,
        );
    }

    #[test]
    fn an_output_cut_at_the_limit_is_no_success() {
        is(&ProcessResult { output_at_limit: true, ..exit(0) }, Outcome::FileSize);
    }

    #[test]
    fn the_codes_of_the_contract_are_not_guessed_away() {
        is(&ProcessResult { peak_memory: 999, ..exit(75) }, Outcome::Exit);
        is(&ProcessResult { file_at_limit: true, ..exit(65) }, Outcome::Exit);
    }

    #[test]
    fn an_end_that_nobody_knows_is_lost() {
        is(&ProcessResult { peak_memory: 999, ..ProcessResult::default() }, Outcome::Lost);
    }

    #[test]
    fn the_rest_is_exit_or_signal() {
        is(&exit(1), Outcome::Exit);
        is(&signal(Signal::SIGSEGV), Outcome::Signal);
    }
}
