//! The web front: one request of a web server by CGI/1.1 (RFC 3875) in, one answer in HTTP out.
//!
//! Everything about a request is decided before the first byte of its answer is written, so that a fault, even a
//! panic, can still be answered by a status of its own. A fresh file costs the configuration and one open file; only a
//! miss opens the database.

mod accept;
mod body;
mod client;
mod disposition;
mod file;
mod language;
mod log;
mod name;
mod page;
mod pauses;
mod problem;
mod quality;
mod query;
mod range;
mod reply;
mod response;
mod say;
mod sendfile;
mod since;
mod slot;
mod templates;
mod url;
mod validators;
mod variables;
mod visit;
mod wish;
mod words;

use std::{
    ffi::{OsStr, OsString},
    panic::AssertUnwindSafe,
    path::Path,
};

use self::{reply::Reply, variables::Variables};
use crate::{
    cli::Global,
    commands::world::World,
    exit::{Exit, Failure},
};

/// The name under which the program is a CGI program whatever the words are: a link of this name to it spares each
/// request the shell of `bin/pressroom.cgi`.
const NAME: &str = "pressroom.cgi";

/// If the command line is `pressroom [OPTIONS] request --cgi …`, the words up to `request`; if the program was called
/// as `pressroom.cgi`, this name. What follows was passed on by a web server and is ignored.
pub fn words_before(words: &[OsString]) -> Option<&[OsString]> {
    if words.first().is_some_and(|name| Path::new(name).file_name() == Some(OsStr::new(NAME))) {
        return Some(&words[..1]);
    }
    let at = words.iter().position(|word| word == "request")?;
    words.get(at + 1).filter(|word| *word == "--cgi")?;
    Some(&words[..at])
}

/// Answers the request that the environment describes. Ends well whatever the status: the answer tells.
pub fn serve(global: &Global) -> Result<(), Failure> {
    let variables = Variables::of_process();
    if variables.bytes("REQUEST_METHOD").is_none() {
        return Err(Failure::because(Exit::Usage, "--cgi is for web servers: REQUEST_METHOD is not set"));
    }
    let answered = std::panic::catch_unwind(AssertUnwindSafe(|| respond(global, &variables)));
    let response = answered.unwrap_or_else(|_| Reply::bare(&variables).fault());
    let response = if is_head(&variables) { response.without_body() } else { response };
    match response.send(std::io::stdout()) {
        Err(error) if !response::is_gone(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

fn is_head(variables: &Variables) -> bool {
    variables.text("REQUEST_METHOD") == Some("HEAD")
}

fn respond(global: &Global, variables: &Variables) -> response::Response {
    match World::load(global) {
        Ok(world) => visit::respond(&world, variables, std::io::stdin()),
        Err(failure) => Reply::bare(variables).failure(&failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_do_not_count() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let before = |text: &str| words_before(&words(text)).map(<[OsString]>::len);
        assert_eq!(before("pressroom request --cgi"), Some(1));
        assert_eq!(before("pressroom --config x request --cgi --help tick"), Some(3));
        assert_eq!(before("pressroom request epub --cgi"), None);
        assert_eq!(before("pressroom tick"), None);
        assert_eq!(before("pressroom request"), None);
        assert_eq!(before("/usr/lib/cgi-bin/pressroom.cgi --config x tick"), Some(1));
        assert_eq!(before("pressroom.cgi"), Some(1));
        assert_eq!(before("other.cgi tick"), None);
    }
}
