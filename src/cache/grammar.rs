//! Stand-in for the grammar of `model::filename`, until that is there.

/// Whether `name`, below `cache/<exporter>/`, is one that Pressroom may have written.
pub(super) fn is_ours(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 200
        && !name.starts_with(['.', '-'])
        && !name.bytes().any(|byte| byte == b'/' || byte == b' ' || byte.is_ascii_control())
}

/// Whether `name` may be an exporter's.
pub(super) fn is_exporter(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().next().is_some_and(plain) && name.bytes().all(|byte| plain(byte) || byte == b'_' || byte == b'-')
}
