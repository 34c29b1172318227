//! The form of a POST: read within a limit of size and time, so that a slow sender holds nothing for long.

use std::{
    io::Read,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{problem::WebProblem, variables::Variables};
use crate::model::misfit::Misfit;

/// Bytes of a form.
const LIMIT: usize = 64 * 1024;
/// For the whole of it.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
const FORM: &str = "application/x-www-form-urlencoded";

/// The body as it was sent.
pub(super) fn read(variables: &Variables, input: impl Read + AsFd) -> Result<Vec<u8>, WebProblem> {
    let length = length(variables)?;
    if length == 0 {
        return Ok(Vec::new());
    }
    if !is_form(variables.text("CONTENT_TYPE").unwrap_or_default()) {
        return Err(WebProblem::NotAForm);
    }
    receive(input, length, Instant::now() + BODY_TIMEOUT)
}

fn length(variables: &Variables) -> Result<usize, WebProblem> {
    let Some(text) = variables.bytes("CONTENT_LENGTH") else {
        let chunked = variables.bytes("HTTP_TRANSFER_ENCODING").is_some();
        return if chunked { Err(WebProblem::Length) } else { Ok(0) };
    };
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(WebProblem::Bad(Misfit::Said("the length of the form is not a number")));
    }
    // What is too long for a number is too long for a form.
    let length = String::from_utf8_lossy(text).parse().unwrap_or(usize::MAX);
    if length > LIMIT { Err(WebProblem::TooLarge) } else { Ok(length) }
}

fn is_form(content_type: &str) -> bool {
    content_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM))
}

fn receive(mut input: impl Read + AsFd, length: usize, end: Instant) -> Result<Vec<u8>, WebProblem> {
    let short = || WebProblem::Bad(Misfit::Said("the form is shorter than its declared length"));
    let mut body = vec![0; length];
    let mut have = 0;
    while have < length {
        if !is_readable(&input, end) {
            return Err(WebProblem::Bad(Misfit::Said("the form took too long to arrive")));
        }
        match input.read(&mut body[have..]) {
            Ok(0) => return Err(short()),
            Ok(count) => have += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(short()),
        }
    }
    Ok(body)
}

/// Waits until there is something to read, the end of the input included.
fn is_readable(input: &impl AsFd, end: Instant) -> bool {
    let left = end.saturating_duration_since(Instant::now());
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
    match poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], timeout) {
        Ok(count) => count > 0,
        Err(nix::errno::Errno::EINTR) => Instant::now() < end && is_readable(input, end),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Write, pipe};

    use super::*;

    fn sent(text: &[u8]) -> PipeReader {
        let (reader, mut writer) = pipe().unwrap();
        writer.write_all(text).unwrap();
        reader
    }

    fn form(length: &str) -> Variables {
        Variables::of(&[
            ("CONTENT_LENGTH", length),
            ("CONTENT_TYPE", "application/x-www-form-urlencoded; charset=utf-8"),
        ])
    }

    #[test]
    fn a_form_is_read_to_its_length_and_no_further() {
        assert_eq!(read(&form("3"), sent(b"a=1&b=2")).unwrap(), b"a=1");
        assert_eq!(read(&form("0"), sent(b"a=1")).unwrap(), b"");
        assert_eq!(read(&Variables::default(), sent(b"a=1")).unwrap(), b"");
    }

    #[test]
    fn a_form_that_is_cut_too_large_or_of_unknown_length_is_refused() {
        let problem = |length| read(&form(length), sent(b"a=1")).unwrap_err().status();
        assert_eq!(problem("4"), 400);
        assert_eq!(problem("-1"), 400);
        assert_eq!(problem("65537"), 413);
        assert_eq!(problem("99999999999999999999999999"), 413);
        let chunked = Variables::of(&[("HTTP_TRANSFER_ENCODING", "chunked")]);
        assert_eq!(read(&chunked, sent(b"")).unwrap_err(), WebProblem::Length);
        let json = Variables::of(&[("CONTENT_LENGTH", "2"), ("CONTENT_TYPE", "application/json")]);
        assert_eq!(read(&json, sent(b"{}")).unwrap_err(), WebProblem::NotAForm);
    }

    #[test]
    fn a_form_that_does_not_arrive_is_not_waited_for() {
        let (reader, mut writer) = pipe().unwrap();
        writer.write_all(b"a=").unwrap();
        let late = receive(reader, 3, Instant::now() + Duration::from_millis(20)).unwrap_err();
        assert_eq!(late, WebProblem::Bad(Misfit::Said("the form took too long to arrive")));
    }
}
