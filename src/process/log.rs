//! The log of an attempt: head and tail of what the exporter wrote.

/// Text that is safe to show: valid UTF-8, no controls but newline and tab, long lines cut.
pub fn shown(bytes: &[u8]) -> String {
    let _ = bytes;
    todo!()
}
