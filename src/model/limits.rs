//! The limits of one attempt, as they are recorded with it.

use std::time::{Duration, TryFromFloatSecsError};

use serde::{Deserialize, Serialize};

use super::clock::LONGEST;

/// What one attempt may use. `None` is "none": not limited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// No limit at all, for the record of an attempt that was never started.
    pub const fn none() -> Self {
        Self {
            timeout: Duration::ZERO,
            kill_after: Duration::ZERO,
            memory: None,
            cpu: None,
            file_size: None,
            work_size: None,
            open_files: None,
            data: None,
            address_space: None,
            processes: None,
        }
    }
}

/// From a row, which may hold any number; see [`LONGEST`].
fn duration(seconds: f64) -> Result<Duration, TryFromFloatSecsError> {
    Ok(Duration::try_from_secs_f64(seconds)?.min(LONGEST))
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
