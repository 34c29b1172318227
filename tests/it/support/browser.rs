//! Chromium by way of chromedriver: as much of W3C's web driver protocol as the tests need, over plain HTTP.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::site::wait_until;

/// What kind of visitor it is.
#[derive(Clone, Copy)]
pub struct Visitor {
    pub scripts: bool,
    pub language: &'static str,
    pub phone: bool,
}

pub const USUAL: Visitor = Visitor { scripts: true, language: "en", phone: false };

/// A browser with an empty profile.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    home: TempDir,
}

impl Browser {
    /// `Err`: what is not installed.
    pub fn start(visitor: Visitor) -> Result<Self, String> {
        for path in ["/usr/bin/chromedriver", "/usr/bin/chromium"] {
            if !Path::new(path).exists() {
                return Err(format!("{path} is not installed"));
            }
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("downloads")).unwrap();
        let mut command = Command::new("/usr/bin/chromedriver");
        command.arg(format!("--port={port}")).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.path());
        command.env("LANG", "C.UTF-8").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut browser = Self { driver: command.spawn().unwrap(), port, session: String::new(), home };
        wait_until("chromedriver listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let made = browser.call("POST", "/session", &browser.capabilities(visitor));
        browser.session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        Ok(browser)
    }

    fn capabilities(&self, visitor: Visitor) -> Value {
        let profile = format!("--user-data-dir={}", self.home.path().join("profile").display());
        let language = format!("--accept-lang={}", visitor.language);
        let mut options = json!({
            "args": ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--no-proxy-server", "--window-size=900,700", profile, language],
            "prefs": {
                "download.default_directory": self.downloads(),
                "download.prompt_for_download": false,
                "intl.accept_languages": visitor.language,
                "profile.default_content_setting_values.javascript": if visitor.scripts { 1 } else { 2 },
            },
        });
        if visitor.phone {
            options["mobileEmulation"] = json!({ "deviceMetrics": { "width": 360, "height": 740, "pixelRatio": 2.0 } });
        }
        json!({ "capabilities": { "alwaysMatch": { "browserName": "chrome", "goog:chromeOptions": options } } })
    }

    pub fn downloads(&self) -> PathBuf {
        self.home.path().join("downloads")
    }

    #[track_caller]
    pub fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({ "url": url }));
    }

    /// The state that the page shows; nothing while one page goes and the next has not come.
    pub fn state(&self) -> String {
        let class = |element| self.command("GET", &format!("/element/{element}/attribute/class"), &Value::Null);
        self.find("#pressroom").map(class).and_then(|class| Some(class.as_str()?.to_owned())).unwrap_or_default()
    }

    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.text_of(&self.element(selector))
    }

    /// The same, or nothing while one page goes and the next has not come.
    pub fn text_if(&self, selector: &str) -> String {
        self.find(selector).map_or_else(String::new, |element| self.text_of(&element))
    }

    fn text_of(&self, element: &str) -> String {
        self.command("GET", &format!("/element/{element}/text"), &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn attribute(&self, selector: &str, name: &str) -> String {
        let element = self.element(selector);
        let value = self.command("GET", &format!("/element/{element}/attribute/{name}"), &Value::Null);
        value.as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    #[track_caller]
    fn element(&self, selector: &str) -> String {
        self.find(selector)
            .unwrap_or_else(|| panic!("no {selector} in {}", self.command("GET", "/source", &Value::Null)))
    }

    fn find(&self, selector: &str) -> Option<String> {
        let found = self.command("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        // An element is an object with one member, an error one with several.
        let found = found.as_object().filter(|found| found.len() == 1)?;
        found.values().next()?.as_str().map(str::to_owned)
    }

    /// What a function body returns in the page.
    #[track_caller]
    pub fn script(&self, body: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// The same for one that calls its last argument when it is done.
    #[track_caller]
    pub fn later(&self, body: &str) -> Value {
        self.command("POST", "/execute/async", &json!({ "script": body, "args": [] }))
    }

    /// `light` or `dark`.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let call = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        self.command("POST", "/goog/cdp/execute", &call);
    }

    /// Keeps a picture of the page in `target/screenshots/`.
    #[track_caller]
    pub fn shot(&self, name: &str) {
        let picture = self.command("GET", "/screenshot", &Value::Null);
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screenshots");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{name}.png")), base64(picture.as_str().unwrap())).unwrap();
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, &format!("{}{path}", self.session), body)
    }

    /// One exchange; errors of the protocol are values like any other.
    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        serde_json::from_slice::<Value>(&answer).map_or(Value::Null, |answer| answer["value"].clone())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.call("DELETE", &self.session, &Value::Null);
        }
        let _ = kill(Pid::from_raw(i32::try_from(self.driver.id()).unwrap()), Signal::SIGTERM);
        let _ = self.driver.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|byte| *byte != b'=').map(|byte| digit(byte).into()).collect();
    let group = |four: &[u32]| {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

/// No violation that axe-core knows of.
pub fn assert_accessible(browser: &Browser, what: &str) {
    let axe = format!("{}/target/needs/node_modules/axe-core/axe.min.js", env!("CARGO_MANIFEST_DIR"));
    let Ok(source) = fs::read_to_string(&axe) else {
        crate::support::outside::skipped("browser accessibility", "axe-core is not installed");
        return;
    };
    browser.script(&source);
    let run = "const done = arguments[arguments.length - 1]; \
               axe.run(document).then(found => done(found.violations), error => done(String(error)))";
    let violations = browser.later(run);
    let brief = |found: &Value| format!("{}: {} {}", found["id"], found["help"], found["nodes"][0]["html"]);
    let list: Vec<_> =
        violations.as_array().unwrap_or_else(|| panic!("{what}: {violations}")).iter().map(brief).collect();
    assert!(list.is_empty(), "{what}: {list:#?}");
}
