//! The limits of one attempt, as they are recorded with it.

use std::time::{Duration, TryFromFloatSecsError};

use serde::{Deserialize, Serialize};

use super::clock::LONGEST;

/// What one attempt may use. `None` is "none": not limited. The default, without any limit, is for the record of an attempt
/// that was never started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall clock; in JSON seconds.
    #[serde(with = "seconds")]
    pub timeout: Duration,
    /// From SIGTERM to SIGKILL; in JSON seconds.
    #[serde(with = "seconds")]
    pub kill_after: Duration,
    /// Resident bytes of the whole tree.
    #[serde(rename = "memory_limit")]
    pub memory: Option<u64>,
    /// CPU time of the whole tree; in JSON seconds.
    #[serde(rename = "cpu_time_limit", with = "optional_seconds")]
    pub cpu: Option<Duration>,
    /// Bytes of one file, `RLIMIT_FSIZE`.
    pub file_size: Option<u64>,
    /// Bytes of the work directory.
    pub work_size: Option<u64>,
    /// `RLIMIT_NOFILE`.
    pub open_files: Option<u64>,
    /// Bytes, `RLIMIT_DATA`, per process.
    pub data: Option<u64>,
    /// Bytes, `RLIMIT_AS`, per process.
    pub address_space: Option<u64>,
    /// `RLIMIT_NPROC`, of the whole user.
    pub processes: Option<u64>,
}

impl Limits {
    /// After so long an attempt that still holds its lock should have ended by itself: its time, the time between asking
    /// and killing, and a minute for what comes after.
    pub const fn overdue_after(&self) -> Duration {
        const CLOSING: Duration = Duration::from_mins(1);
        self.timeout.saturating_add(self.kill_after).saturating_add(CLOSING)
    }

    /// These limits of a row, brought between the configured ones and the most that retries may raise them to. What the
    /// row leaves open counts as configured, and so does what no retry raises.
    #[must_use]
    pub fn within(&self, configured: &Self, most: &Self) -> Self {
        Self {
            timeout: self.timeout.min(most.timeout).max(configured.timeout),
            memory: between(self.memory, configured.memory, most.memory),
            cpu: between(self.cpu, configured.cpu, most.cpu),
            file_size: between(self.file_size, configured.file_size, most.file_size),
            work_size: between(self.work_size, configured.work_size, most.work_size),
            ..configured.clone()
        }
    }
}

/// From a row, which may hold any number; see [`LONGEST`].
fn duration(seconds: f64) -> Result<Duration, TryFromFloatSecsError> {
    Ok(Duration::try_from_secs_f64(seconds)?.min(LONGEST))
}

/// What is not limited by the configuration is not limited by a row.
fn between<T: Ord + Copy>(row: Option<T>, configured: Option<T>, most: Option<T>) -> Option<T> {
    let least = configured?;
    let wanted = row.unwrap_or(least);
    Some(most.map_or(wanted, |most| wanted.min(most)).max(least))
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::duration(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

mod optional_seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for it")]
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_some(&duration.as_secs_f64()),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(deserializer)?
            .map(|seconds| super::duration(seconds).map_err(serde::de::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(seconds: u64, size: Option<u64>) -> Limits {
        let timeout = Duration::from_secs(seconds);
        let times = Limits { timeout, cpu: size.map(Duration::from_secs), ..Limits::default() };
        Limits { memory: size, file_size: size, work_size: size, open_files: size, ..times }
    }

    #[test]
    fn limits_of_a_row_are_never_looser_than_the_most_nor_stricter_than_configured() {
        let (least, most) = (limits(10, Some(100)), limits(40, Some(400)));
        assert_eq!(
            limits(20, Some(200)).within(&least, &most),
            Limits { open_files: Some(100), ..limits(20, Some(200)) }
        );
        assert_eq!(
            limits(999, None).within(&least, &most),
            Limits { timeout: Duration::from_secs(40), ..least.clone() }
        );
        assert_eq!(limits(0, Some(0)).within(&least, &most), least);
        assert_eq!(limits(20, Some(9999)).within(&least, &most).memory, Some(400));
        let open = limits(10, None);
        assert_eq!(limits(10, Some(1)).within(&open, &open), open);
    }

    #[test]
    fn limits_that_are_no_limits_are_refused() {
        for text in ["[]", "{}", r#"{"timeout":-1}"#, r#"{"timeout":1e300,"kill_after":1,"cpu_time_limit":null}"#] {
            assert!(serde_json::from_str::<Limits>(text).is_err(), "{text}");
        }
    }
}
