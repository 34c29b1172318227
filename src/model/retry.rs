//! After a failure: whether the job runs again, when, and under which limits. Pure.

use std::time::Duration;

use super::{breaker::TEMPORARY, limits::Limits, status::Outcome};

/// Exit status for "bad input" (`EX_DATAERR` of sysexits): never retried.
pub const PERMANENT: i32 = 65;

/// The retry rules of an exporter.
pub struct Rules<'a> {
    pub max_attempts: u32,
    pub retry_on: &'a [Outcome],
    pub temporary: bool,
    pub delay: Duration,
    pub max_delay: Duration,
}

/// Whether an attempt that ended so, the `number`th of its job, is followed by another one.
pub fn runs_again(rules: &Rules, outcome: Outcome, exit_code: Option<i32>, number: u32) -> bool {
    let wanted = match (outcome, exit_code) {
        (Outcome::Exit, Some(PERMANENT)) => false,
        (Outcome::Exit, Some(TEMPORARY)) if rules.temporary => true,
        _ => rules.retry_on.contains(&outcome),
    };
    wanted && number < rules.max_attempts
}

/// The wait before the next attempt: doubled each time, up to a quarter longer by chance so that failures that came
/// together do not come back together. `chance` is any number.
pub fn delay(rules: &Rules, number: u32, chance: u8) -> Duration {
    let doubled = rules.delay.saturating_mul(2_u32.saturating_pow(number.saturating_sub(1)));
    doubled.saturating_add(scaled(doubled, f64::from(chance) / 1020.0)).min(rules.max_delay)
}

/// Without the panic of `mul_f64`: what cannot be counted is the longest time there is.
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

/// The limits of the next attempt: the one that ended the last grows by `factor`, never beyond `most`, never down.
pub fn escalate(last: &Limits, most: &Limits, outcome: Outcome, over_work_size: bool, factor: f64) -> Limits {
    let mut next = last.clone();
    match outcome {
        Outcome::Timeout => next.timeout = scaled(last.timeout, factor).min(most.timeout).max(last.timeout),
        Outcome::Cpu => {
            next.cpu = last.cpu.map(|cpu| scaled(cpu, factor).min(most.cpu.unwrap_or(Duration::MAX)).max(cpu));
        }
        Outcome::Memory => next.memory = grown(last.memory, most.memory, factor),
        Outcome::FileSize if over_work_size => next.work_size = grown(last.work_size, most.work_size, factor),
        Outcome::FileSize => next.file_size = grown(last.file_size, most.file_size, factor),
        _ => {}
    }
    next
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "sizes far below 2^52"
)]
fn grown(last: Option<u64>, most: Option<u64>, factor: f64) -> Option<u64> {
    last.map(|last| ((last as f64 * factor) as u64).min(most.unwrap_or(u64::MAX)).max(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules<'static> {
        Rules {
            max_attempts: 3,
            retry_on: &[Outcome::Timeout],
            temporary: true,
            delay: Duration::from_secs(30),
            max_delay: Duration::from_mins(2),
        }
    }

    fn limits() -> Limits {
        Limits {
            timeout: Duration::from_secs(10),
            kill_after: Duration::from_secs(5),
            memory: Some(1000),
            cpu: Some(Duration::from_secs(8)),
            file_size: Some(100),
            work_size: Some(500),
            open_files: Some(64),
            ..Limits::default()
        }
    }

    #[test]
    fn bad_input_is_never_retried_and_a_temporary_failure_is() {
        let again = |outcome, code, number| runs_again(&rules(), outcome, code, number);
        assert!(again(Outcome::Timeout, None, 1));
        assert!(!again(Outcome::Timeout, None, 3));
        assert!(!again(Outcome::Exit, Some(1), 1));
        assert!(!again(Outcome::Exit, Some(65), 1));
        assert!(again(Outcome::Exit, Some(75), 1));
    }

    #[test]
    fn the_delay_doubles_up_to_its_limit_and_is_never_shorter() {
        assert_eq!(delay(&rules(), 1, 0), Duration::from_secs(30));
        assert_eq!(delay(&rules(), 2, 0), Duration::from_mins(1));
        assert!(delay(&rules(), 1, 255) > Duration::from_secs(37));
        assert_eq!(delay(&rules(), 40, 255), Duration::from_mins(2));
    }

    #[test]
    fn no_number_is_too_large() {
        let rules = Rules { delay: Duration::MAX, max_delay: Duration::MAX, ..rules() };
        assert_eq!(delay(&rules, u32::MAX, 255), Duration::MAX);
        let huge = Limits { timeout: Duration::MAX, cpu: Some(Duration::MAX), memory: Some(u64::MAX), ..limits() };
        for factor in [1.0, 1000.0, f64::MAX, f64::INFINITY, f64::NAN] {
            for outcome in Outcome::ALL {
                let next = escalate(&huge, &huge, outcome, false, factor);
                assert_eq!((next.timeout, next.memory), (huge.timeout, huge.memory), "{factor}");
            }
        }
    }

    #[test]
    fn only_the_limit_that_ended_the_attempt_grows_and_not_beyond_the_most() {
        let most = Limits { timeout: Duration::from_secs(15), memory: Some(4000), ..limits() };
        let next = escalate(&limits(), &most, Outcome::Timeout, false, 2.0);
        assert_eq!(next, Limits { timeout: Duration::from_secs(15), ..limits() });
        let next = escalate(&limits(), &most, Outcome::Memory, false, 2.0);
        assert_eq!(next, Limits { memory: Some(2000), ..limits() });
        assert_eq!(escalate(&limits(), &most, Outcome::Exit, false, 2.0), limits());
    }
}
