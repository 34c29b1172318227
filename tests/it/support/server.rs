//! Starting a web server on loopback, with the configuration that `docs/examples/` shows and its own places in it.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::{
        signal::{Signal, kill, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::{Pid, geteuid},
};

use super::site::{Site, wait_until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    NginxAccel,
    Apache,
    ApacheXSendfile,
    Lighttpd,
    LighttpdXSendfile,
    /// The same by another name than lighttpd gives itself.
    LighttpdTagged,
    Busybox,
}

/// The users of the status page; the first may act.
pub const USERS: [&str; 2] = ["anna", "bert"];
/// The password of both.
pub const PASSWORD: &str = "secret";
/// The same as `openssl passwd -apr1` and `openssl passwd -1` have it.
const APR1: &str = "$apr1$pressroo$Q5I5/kgDzdehUEEK0rOw01";
const MD5: &str = "$1$pressroo$E9j8qlFdip/EQdwsKzH94/";

/// A server and the site behind it.
pub struct Server {
    pub kind: Kind,
    pub site: Site,
    /// Where the exporters are: `http://127.0.0.1:8081/export`.
    pub base: String,
    /// Of fcgiwrap.
    workers: u8,
    door: Door,
    children: Vec<Child>,
}

/// Whether the status page asks for a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Closed,
    Open,
}

/// As many workers of fcgiwrap as the examples name.
pub const WORKERS: u8 = 10;

const EXPORTER: &str = r#"case "$2" in
Slow*)
    echo "40 Fetching images" >>"$PRESSROOM_PROGRESS"
    while [ ! -e ../../../go ]; do sleep 0.02; done
    seq 1 400000 >"$1"
    ;;
Big) seq 1 400000 >"$1" ;;
Huge) head -c 50000000 /dev/zero >"$1" ;;
Bad) echo "there is no such book" >"$PRESSROOM_MESSAGE"; exit 65 ;;
*) printf "%s\n" "$2" >"$1" ;;
esac"#;

const MORE: &str = r#"
[exporter.drawing]
web = true
command = ["/bin/sh", "-c", "echo '<svg/>' >$1", "sh", "{output}"]
filename = "drawing.svg"
[exporter.secret]
command = ["true"]
filename = "x.txt"
[exporter.private]
command = ["/bin/sh", "-c", "echo for the bookkeeper only >$1", "sh", "{output}"]
filename = "payroll.epub"
"#;

impl Kind {
    /// The program, and a file that comes with it if that is a package of its own.
    const fn needs(self) -> &'static [&'static str] {
        match self {
            Self::Nginx | Self::NginxAccel => &["/usr/sbin/nginx", "/usr/sbin/fcgiwrap"],
            Self::Apache => &["/usr/sbin/apache2"],
            Self::ApacheXSendfile => &["/usr/sbin/apache2", "/usr/lib/apache2/modules/mod_xsendfile.so"],
            Self::Lighttpd | Self::LighttpdXSendfile | Self::LighttpdTagged => {
                &["/usr/sbin/lighttpd", "/etc/lighttpd/lighttpd.conf", "/usr/sbin/lighty-enable-mod"]
            }
            Self::Busybox => &["/bin/busybox"],
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Nginx => "nginx.conf",
            Self::NginxAccel => "nginx-accel.conf",
            Self::Apache => "apache.conf",
            Self::ApacheXSendfile => "apache-xsendfile.conf",
            Self::Lighttpd => "lighttpd.conf",
            Self::LighttpdXSendfile | Self::LighttpdTagged => "lighttpd-xsendfile.conf",
            Self::Busybox => "busybox-httpd.conf",
        }
    }

    const fn sendfile(self) -> &'static str {
        match self {
            Self::NginxAccel => "x-accel-redirect:/pressroom-files",
            Self::ApacheXSendfile => "x-sendfile:raw",
            Self::LighttpdXSendfile | Self::LighttpdTagged => "x-sendfile",
            Self::Nginx | Self::Apache | Self::Lighttpd | Self::Busybox => "off",
        }
    }
}

impl Server {
    /// `Err`: what is not installed.
    pub fn start(kind: Kind) -> Result<Self, String> {
        Self::start_with(kind, WORKERS, "")
    }

    /// With a public status page, for which no password is asked.
    pub fn start_open(kind: Kind) -> Result<Self, String> {
        Self::launched(kind, WORKERS, "", Door::Open)
    }

    /// With so many workers of fcgiwrap, and more rules in `[http]`.
    pub fn start_with(kind: Kind, workers: u8, http: &str) -> Result<Self, String> {
        Self::launched(kind, workers, http, Door::Closed)
    }

    fn launched(kind: Kind, workers: u8, http: &str, door: Door) -> Result<Self, String> {
        for path in kind.needs().iter().chain(&["/usr/bin/curl"]) {
            if !Path::new(path).exists() {
                return Err(format!("{path} is not installed"));
            }
        }
        let rules = format!(
            "[http]\n{http}refresh = \"0s\"\nsendfile = \"{}\"\n[queue.default]\nmax_per_client = 6\n[status]\npublic = {}\nadmins = [\"{}\"]\n{MORE}",
            kind.sendfile(),
            door == Door::Open,
            USERS[0]
        );
        let site = Site::new().exporter_with(EXPORTER, crate::support::web::RULES).more(&rules);
        let site = open_to_server(site);
        let port = free_port();
        let script = if kind == Kind::Busybox { "cgi-bin/pressroom.cgi" } else { "export" };
        let base = format!("http://127.0.0.1:{port}/{script}");
        let mut server = Self { kind, site, base, workers, door, children: Vec::new() };
        server.install("pressroom.cgi");
        server.install("status.cgi");
        server.write("htpasswd", &USERS.map(|user| format!("{user}:{APR1}\n")).concat());
        server.launch(port);
        wait_until("the server listens", || {
            server.children.iter_mut().for_each(|child| assert!(child.try_wait().unwrap().is_none(), "it has ended"));
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Ok(server)
    }

    fn launch(&mut self, port: u16) {
        let conf = self.write("server.conf", &self.configuration(port));
        let command = match self.kind {
            Kind::Nginx | Kind::NginxAccel => {
                let socket = self.site.path("web/fcgiwrap.socket");
                let mut wrap = as_web_user("/usr/sbin/fcgiwrap");
                wrap.arg(format!("-fc{}", self.workers)).arg("-s").arg(format!("unix:{}", socket.display()));
                self.spawn(wrap);
                wait_until("fcgiwrap listens", || socket.exists());
                let mut nginx = Command::new("/usr/sbin/nginx");
                nginx.arg("-e").arg(self.site.path("web/error.log")).arg("-c").arg(conf);
                nginx
            }
            Kind::Apache | Kind::ApacheXSendfile => {
                let mut apache = Command::new("/usr/sbin/apache2");
                apache.arg("-DFOREGROUND").arg("-f").arg(conf);
                apache
            }
            Kind::Lighttpd | Kind::LighttpdXSendfile | Kind::LighttpdTagged => {
                let mut lighttpd = Command::new("/usr/sbin/lighttpd");
                lighttpd.arg("-D").arg("-f").arg(conf);
                lighttpd
            }
            Kind::Busybox => {
                let mut busybox = as_web_user("/bin/busybox");
                busybox.args(["httpd", "-f", "-p"]).arg(format!("127.0.0.1:{port}"));
                busybox.arg("-h").arg(self.site.path("web")).arg("-c").arg(conf);
                busybox.env("PRESSROOM_CONFIG", self.site.config());
                busybox
            }
        };
        self.spawn(command);
    }

    /// The example with our places, in what every installation has around it.
    fn configuration(&self, port: u16) -> String {
        let web = self.site.path("web").display().to_string();
        let example = example(self.kind.example());
        let example = if self.door == Door::Open { without_passwords(&example) } else { example };
        let example = example
            .replace("/etc/pressroom/pressroom.toml", &self.site.config().display().to_string())
            .replace("/usr/local/libexec/pressroom/", &format!("{web}/cgi-bin/"))
            .replace("/etc/pressroom/htpasswd", &self.site.path("htpasswd").display().to_string())
            .replace("anna:$1$salt$hash", &format!("anna:{MD5}\n/cgi-bin/status.cgi:bert:{MD5}"))
            .replace("/var/lib/pressroom", &self.site.path("s").display().to_string())
            .replace("/run/fcgiwrap.socket", &format!("{web}/fcgiwrap.socket"))
            .replace("listen 80", &format!("listen 127.0.0.1:{port}"))
            .replace("*:80", &format!("127.0.0.1:{port}"));
        match self.kind {
            Kind::Nginx | Kind::NginxAccel => format!(
                "{user}daemon off;\npid {web}/nginx.pid;\nevents {{ }}\nhttp {{\naccess_log off;\n{temp}{example}}}\n",
                user = if geteuid().is_root() { "user www-data;\n" } else { "" },
                temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|what| format!("{what}_temp_path {web}/{what};\n"))
                    .concat(),
            ),
            Kind::Apache | Kind::ApacheXSendfile => format!("{}{example}", apache(self.kind, &web, port)),
            Kind::Lighttpd | Kind::LighttpdXSendfile | Kind::LighttpdTagged => {
                let tag = if self.kind == Kind::LighttpdTagged { "server.tag = \"www\"\n" } else { "" };
                lighttpd(&self.site.path("web"), port, &format!("{example}{tag}"))
            }
            Kind::Busybox => example,
        }
    }

    /// The link that `make install` makes, or the script for those whose server follows no links.
    fn install(&self, name: &str) {
        fs::create_dir_all(self.site.path("web/cgi-bin")).unwrap();
        let (path, program) = (self.site.path("web/cgi-bin").join(name), env!("CARGO_BIN_EXE_pressroom"));
        if matches!(self.kind, Kind::Nginx | Kind::Apache | Kind::Lighttpd) {
            return std::os::unix::fs::symlink(program, path).unwrap();
        }
        let script = fs::read_to_string(root().join("bin").join(name)).unwrap();
        fs::write(&path, script.replace("${PRESSROOM:-pressroom}", program)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.site.path(below);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn spawn(&mut self, mut command: Command) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.site.path("web/error.log")).unwrap();
        command.current_dir(self.site.dir()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        // A group of its own, since fcgiwrap leaves its helpers behind when it is told to end.
        self.children.push(command.process_group(0).spawn().unwrap());
    }

    /// What the server and the program behind it have complained about: all but the server's coming and going.
    pub fn log(&self) -> String {
        let log = fs::read_to_string(self.site.path("web/error.log")).unwrap_or_default();
        log.lines().filter(|line| ![":notice]", "(server.c."].iter().any(|usual| line.contains(usual))).collect()
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Where the status page is.
    pub fn status(&self) -> String {
        let base = self.base.replace("pressroom.cgi", "status.cgi");
        base.strip_suffix("/export").map_or_else(|| base.clone(), |root| format!("{root}/status"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            let leader = Pid::from_raw(i32::try_from(child.id()).unwrap());
            let _ = kill(leader, Signal::SIGTERM);
            // Seen to have ended but not yet reaped, it still keeps the group's number from passing to others.
            let _ = waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            let _ = killpg(leader, Signal::SIGKILL);
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("{:?} logged: {}", self.kind, self.log());
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn example(name: &str) -> String {
    fs::read_to_string(root().join("docs/examples").join(name)).unwrap()
}

/// The example as one would have it who asks for no password and thinks of nothing else.
fn without_passwords(example: &str) -> String {
    let about = [
        "auth_basic",
        "$remote_user;",
        "AUTH_TYPE",
        "AuthType",
        "AuthName",
        "AuthUserFile",
        "    auth.",
        "status.cgi:",
    ];
    let kept = example.lines().filter(|line| !about.iter().any(|word| line.contains(word)));
    kept.map(|line| line.replace("Require valid-user", "Require all granted") + "\n").collect()
}

/// A site that the server's user can enter: as root that is another user in the same group.
fn open_to_server(site: Site) -> Site {
    fs::create_dir(site.path("web")).unwrap();
    fs::write(site.path("web/error.log"), "").unwrap();
    if !geteuid().is_root() {
        return site.create();
    }
    fs::set_permissions(site.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    site.run(&["check", "--create", "--allow-root", "--group", "www-data"]).exits(0);
    let owned = Command::new("chown").args(["-R", "www-data:www-data"]).arg(site.path("web")).status().unwrap();
    assert!(owned.success());
    site
}

fn as_web_user(program: &str) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=www-data", "--regid=www-data", "--clear-groups", "--", program]);
    command
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Debian's own configuration with our places in it, and the example enabled as Debian does it, behind two modules that
/// answer requests themselves.
fn lighttpd(web: &Path, port: u16, example: &str) -> String {
    let dir = web.join("lighttpd");
    let copied = Command::new("cp").args(["-r", "/etc/lighttpd"]).arg(&dir).status().unwrap();
    assert!(copied.success());
    fs::write(dir.join("conf-available/50-pressroom.conf"), example).unwrap();
    let ours = dir.display().to_string();
    let script = fs::read_to_string("/usr/sbin/lighty-enable-mod").unwrap().replace("/etc/lighttpd", &ours);
    fs::write(dir.join("lighty-enable-mod"), script).unwrap();
    let enabled =
        Command::new("perl").arg(dir.join("lighty-enable-mod")).args(["cgi", "fastcgi", "pressroom"]).output();
    assert!(dir.join("conf-enabled/50-pressroom.conf").exists(), "{enabled:?}");
    let text = fs::read_to_string(dir.join("lighttpd.conf")).unwrap().replace("/etc/lighttpd", &ours);
    let line = |line: &str| match line.split_once('=').map(|(name, _)| name.trim()) {
        Some("server.port") => format!("server.port = {port}\nserver.bind = \"127.0.0.1\"\n"),
        Some("server.document-root") => format!("server.document-root = \"{}\"\n", web.display()),
        Some("server.errorlog") => format!("server.errorlog = \"{}/error.log\"\n", web.display()),
        Some("server.upload-dirs") => format!("server.upload-dirs = ( \"{}\" )\n", web.display()),
        Some("server.pid-file") => format!("server.pid-file = \"{}/lighttpd.pid\"\n", web.display()),
        Some("server.username" | "server.groupname") if !geteuid().is_root() => String::new(),
        // It would listen on more than this host.
        None if line.contains("use-ipv6") => String::new(),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// What Debian's apache2.conf and `a2enmod` do.
fn apache(kind: Kind, web: &str, port: u16) -> String {
    let mut modules = vec!["mpm_event", "authz_core", "alias", "env", "headers", "cgid"];
    modules.extend(["auth_basic", "authn_core", "authn_file", "authz_user"]);
    if kind == Kind::ApacheXSendfile {
        modules.push("xsendfile");
    }
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let user = if geteuid().is_root() { "User www-data\nGroup www-data\n" } else { "" };
    format!(
        "ServerRoot {web}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {web}/apache.pid\n\
         ErrorLog {web}/error.log\nLogLevel warn\n{user}{}ScriptSock {web}/cgid.sock\nDefaultRuntimeDir {web}\n",
        modules.iter().map(load).collect::<String>()
    )
}
