//! Which names below `cache/` may be ours: scans pass over all others.

pub(super) use crate::model::filename::is_ours;

/// Whether `name` may be an exporter's.
pub(super) fn is_exporter(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(plain) && name.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
}
