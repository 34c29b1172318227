//! A real client: curl, and its answers taken apart.

use std::{collections::BTreeMap, fs, process::Command};

use tempfile::TempDir;

#[derive(Debug)]
pub struct Reply {
    pub what: String,
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// Asks curl for this address as a browser would, with more of curl's options; an `Accept` among them counts instead.
#[track_caller]
pub fn curl(url: &str, options: &[&str]) -> Reply {
    try_curl(url, options).unwrap_or_else(|error| panic!("{error}"))
}

/// `None`: the server has cut the connection instead of answering, as it may with what is far too large.
#[track_caller]
pub fn curl_or_cut(url: &str, options: &[&str]) -> Option<Reply> {
    match try_curl(url, options) {
        Ok(reply) => Some(reply),
        Err(error) if ["curl: (52)", "curl: (55)", "curl: (56)"].iter().any(|code| error.contains(code)) => None,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn try_curl(url: &str, options: &[&str]) -> Result<Reply, String> {
    let dir = TempDir::new().unwrap();
    let (head, body) = (dir.path().join("head"), dir.path().join("body"));
    let mut command = Command::new("curl");
    command.args(["-sS", "--noproxy", "*", "--path-as-is", "--max-time", "60", "-D"]).arg(&head).arg("-o").arg(&body);
    if !options.iter().any(|option| option.starts_with("Accept:")) {
        command.args(["-H", "Accept: text/html,*/*;q=0.8"]);
    }
    let output = command.args(options).arg(url).output().expect("curl starts");
    let what = format!("{command:?}");
    if !output.status.success() {
        return Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let head = String::from_utf8_lossy(&fs::read(head).unwrap()).into_owned();
    let last = head.trim_end().rsplit("\r\n\r\n").next().unwrap();
    let status = last.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{what}: {head}"));
    let lines = last.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut headers = BTreeMap::new();
    for (name, value) in lines {
        assert!(headers.insert(name.to_lowercase(), value.to_owned()).is_none(), "{name} twice from {what}: {last}");
    }
    Ok(Reply { what, status, headers, body: fs::read(body).unwrap_or_default() })
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}\n{:?}\n{}", self.what, self.headers, self.text());
        self
    }

    #[track_caller]
    pub fn has(&self, name: &str, value: &str) -> &Self {
        assert_eq!(self.header(name), value, "{name} of {}: {:?}", self.what, self.headers);
        self
    }

    /// What every answer but the file itself has.
    #[track_caller]
    pub fn is_passing(&self) -> &Self {
        self.has("cache-control", "no-store").has("x-robots-tag", "noindex, nofollow").has("content-disposition", "");
        assert!(self.header("vary").contains("Accept"), "{self:?}");
        self
    }
}
