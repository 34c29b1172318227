//! The web front: one request of a web server by CGI/1.1 (RFC 3875) in, one answer in HTTP out.
//!
//! Everything about a request is decided before the first byte of its answer is written, so that an internal error, even
//! a panic, can still be answered with 500. For a fresh file the program reads the configuration and opens that file; only
//! a miss opens the database.

mod body;
mod client;
mod conditions;
mod file;
mod handler;
mod negotiation;
mod page;
mod problem;
mod reply;
mod request;
mod response;
mod status;
mod translations;
mod url;
mod variables;

use std::{ffi::OsString, panic::AssertUnwindSafe, path::Path};

use super::{
    cli::Global,
    context::Context,
    exit::{Exit, Failure},
    web::{reply::Reply, response::Response, variables::Variables},
};

/// What a web server can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// For visitors who want a file.
    Request,
    /// For administrators.
    Status,
}

impl Endpoint {
    /// The names under which the program is a CGI program whatever its arguments are: with a link of this name no request
    /// needs the shell script in `bin/`.
    fn called(name: &OsString) -> Option<Self> {
        match Path::new(name).file_name()?.to_str()? {
            "pressroom.cgi" => Some(Self::Request),
            "status.cgi" => Some(Self::Status),
            _ => None,
        }
    }

    fn named(word: &OsString) -> Option<Self> {
        match word.to_str()? {
            "request" => Some(Self::Request),
            "status" => Some(Self::Status),
            _ => None,
        }
    }

    fn respond(self, global: &Global, variables: &Variables) -> Response {
        let input = std::io::stdin();
        match (self, Context::load(global)) {
            (Self::Status, context) => status::respond(context, variables, input),
            (Self::Request, Ok(context)) => handler::respond(&context, variables, input),
            (Self::Request, Err(failure)) => Reply::bare(variables).failure(&failure),
        }
    }

    /// The answer to an internal error.
    fn internal_error(self, variables: &Variables) -> Response {
        match self {
            Self::Request => Reply::bare(variables).internal_error(),
            Self::Status => status::internal_error(variables),
        }
    }
}

/// If the command line is `pressroom [OPTIONS] request --cgi …`, or the same with `status`, which of them and the words
/// before it; if the program was called as one of them, this name. What follows was passed on by a web server and is
/// ignored.
pub fn words_before(words: &[OsString]) -> Option<(Endpoint, &[OsString])> {
    if let Some(endpoint) = words.first().and_then(Endpoint::called) {
        return Some((endpoint, &words[..1]));
    }
    let (at, endpoint) = words.iter().enumerate().find_map(|(at, word)| Some((at, Endpoint::named(word)?)))?;
    words.get(at + 1).filter(|word| *word == "--cgi")?;
    Some((endpoint, &words[..at]))
}

/// Answers the request that the environment describes. The exit status is 0 whatever the HTTP status is.
pub fn serve(endpoint: Endpoint, global: &Global) -> Result<(), Failure> {
    let variables = Variables::of_process();
    if variables.bytes("REQUEST_METHOD").is_none() {
        return Err(Failure::because(Exit::Usage, "--cgi is for web servers: REQUEST_METHOD is not set"));
    }
    let answered = std::panic::catch_unwind(AssertUnwindSafe(|| endpoint.respond(global, &variables)));
    let response = answered.unwrap_or_else(|_| endpoint.internal_error(&variables));
    let response = if variables.is_head() { response.without_body() } else { response };
    match response.send(std::io::stdout()) {
        Err(error) if !response::is_gone(&error) => {
            Err(Failure::because(Exit::Io, format!("cannot write the answer: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_do_not_count() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let before = |text: &str| words_before(&words(text)).map(|(endpoint, before)| (endpoint, before.len()));
        assert_eq!(before("pressroom request --cgi"), Some((Endpoint::Request, 1)));
        assert_eq!(before("pressroom --config x request --cgi --help tick"), Some((Endpoint::Request, 3)));
        assert_eq!(before("pressroom -v status --cgi --format json"), Some((Endpoint::Status, 2)));
        assert_eq!(before("pressroom request status --cgi"), None);
        assert_eq!(before("pressroom request epub --cgi"), None);
        assert_eq!(before("pressroom tick"), None);
        assert_eq!(before("pressroom request"), None);
        assert_eq!(before("/usr/lib/cgi-bin/pressroom.cgi --config x tick"), Some((Endpoint::Request, 1)));
        assert_eq!(before("status.cgi"), Some((Endpoint::Status, 1)));
        assert_eq!(before("other.cgi tick"), None);
    }
}
