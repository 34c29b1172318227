//! Requests to the web front as a server makes them: an environment, perhaps a body, and an answer in CGI's form.

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
};

use super::site::{Done, Site};

/// Parameters that hardly any title of a book is like.
pub const RULES: &str = r#"
web = true
content_type = "application/epub+zip"
"#;

/// A site whose exporter `epub` is there for visitors.
pub fn site() -> Site {
    Site::new().exporter_with(r#"printf "%s\n" "$2" >"$1""#, RULES)
}

/// An answer in CGI's form, taken apart.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    pub log: String,
}

impl Reply {
    #[track_caller]
    fn of(done: &Done) -> Self {
        done.exits(0);
        let output = &done.output.stdout;
        let end = output
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no header ends: {}", done.what));
        let head = std::str::from_utf8(&output[..end]).unwrap();
        let mut headers = BTreeMap::new();
        for line in head.split("\r\n") {
            assert!(!line.contains(['\r', '\n']), "{line:?}");
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"));
            assert!(headers.insert(name.to_lowercase(), value.to_owned()).is_none(), "{name} twice");
        }
        let status = headers["status"][..3].parse().unwrap();
        Self { status, headers, body: output[end + 4..].to_vec(), log: done.err() }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(&name.to_lowercase()).map_or("", |value| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{:?}\n{}\n{}", self.headers, self.text(), self.log);
        self
    }

    #[track_caller]
    pub fn has(&self, name: &str, value: &str) -> &Self {
        assert_eq!(self.header(name), value, "{name} of {:?}", self.headers);
        self
    }

    /// Slashes may be escaped in a page.
    #[track_caller]
    pub fn says(&self, part: &str) -> &Self {
        assert!(self.text().replace("&#x2f;", "/").contains(part), "no {part:?} in {}", self.text());
        self
    }

    /// What holds for everything but the file itself.
    #[track_caller]
    pub fn is_passing(&self) -> &Self {
        self.has("cache-control", "no-store").has("x-robots-tag", "noindex, nofollow").has("vary", "Accept");
        assert!(!self.headers.contains_key("content-disposition"), "{:?}", self.headers);
        assert_ne!(self.header("content-type"), "application/epub+zip");
        self
    }

    /// Seconds of `Retry-After`.
    #[track_caller]
    pub fn retry_after(&self) -> u64 {
        self.header("retry-after").parse().unwrap_or_else(|_| panic!("Retry-After of {:?}", self.headers))
    }
}

/// The program as a server would start it for a browser.
pub fn cgi(site: &Site, method: &str, path: &str, query: &str) -> Command {
    let mut command = program(site, "request", method, query);
    command.env("SCRIPT_NAME", "/export").env("PATH_INFO", path);
    command
}

/// The same for one of the two that are for servers.
pub fn program(site: &Site, front: &str, method: &str, query: &str) -> Command {
    let mut command = site.command(&[front, "--cgi"]);
    command.env("GATEWAY_INTERFACE", "CGI/1.1").env("SERVER_PROTOCOL", "HTTP/1.1").env("REQUEST_METHOD", method);
    command.env("SCRIPT_NAME", "/").env("QUERY_STRING", query);
    command.env("SERVER_NAME", "localhost").env("SERVER_PORT", "80").env("REMOTE_ADDR", "192.0.2.7");
    command.env("HTTP_ACCEPT", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    command
}

#[track_caller]
pub fn get(site: &Site, query: &str, headers: &[(&str, &str)]) -> Reply {
    ask(site, "GET", "/epub", query, headers)
}

#[track_caller]
pub fn ask(site: &Site, method: &str, path: &str, query: &str, headers: &[(&str, &str)]) -> Reply {
    let mut command = cgi(site, method, path, query);
    reply(command.envs(headers.iter().copied()))
}

#[track_caller]
pub fn reply(command: &mut Command) -> Reply {
    Reply::of(&Done::of(command))
}

/// A POST of this form.
#[track_caller]
pub fn post(site: &Site, path: &str, query: &str, form: &[u8]) -> Reply {
    reply_to_form(&mut cgi(site, "POST", path, query), form)
}

/// Sends a form as browsers do.
#[track_caller]
pub fn reply_to_form(command: &mut Command, form: &[u8]) -> Reply {
    command.env("CONTENT_TYPE", "application/x-www-form-urlencoded").env("CONTENT_LENGTH", form.len().to_string());
    reply_to_body(command, form)
}

/// Sends so much of a body and then closes it.
#[track_caller]
pub fn reply_to_body(command: &mut Command, body: &[u8]) -> Reply {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that does not want the body may be gone already.
    let _ = child.stdin.take().unwrap().write_all(body);
    Reply::of(&Done { what: format!("{command:?}"), output: child.wait_with_output().unwrap() })
}
