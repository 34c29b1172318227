//! Starting a web server on loopback.

use std::{
    fs::{self, File},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result};
use nix::unistd::geteuid;

use super::{LARGE, Web};
use crate::{
    peers::find,
    process::{Beside, bare, time, wait_until},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nginx,
    Apache,
    Lighttpd,
}

pub struct Server {
    pub port: u16,
    _processes: Vec<Beside>,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx + fcgiwrap",
            Self::Apache => "Apache",
            Self::Lighttpd => "lighttpd",
        }
    }

    const fn config(self) -> &'static str {
        match self {
            Self::Nginx => include_str!("../../../bench/web/nginx.conf"),
            Self::Apache => include_str!("../../../bench/web/apache.conf"),
            Self::Lighttpd => include_str!("../../../bench/web/lighttpd.conf"),
        }
    }

    fn command(self, web: &Path, config: &Path) -> Result<Command> {
        let mut command = match self {
            Self::Nginx => {
                let mut nginx = bare(find("nginx")?);
                nginx.arg("-e").arg(web.join("nginx.log")).arg("-c");
                nginx
            }
            Self::Apache => {
                let mut apache = bare(find("apache2")?);
                apache.args(["-DFOREGROUND", "-f"]);
                apache
            }
            Self::Lighttpd => {
                let mut lighttpd = bare(find("lighttpd")?);
                lighttpd.args(["-D", "-f"]);
                lighttpd
            }
        };
        command.arg(config);
        Ok(command)
    }
}

impl Server {
    pub fn start(kind: Kind, web: &Web) -> Result<Self> {
        find("ab")?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut processes = Vec::new();
        if kind == Kind::Nginx {
            processes.push(fcgiwrap(&web.dir)?);
        }
        let config = web.dir.join(format!("server-{port}.conf"));
        fs::write(&config, configuration(kind, web, port))?;
        let log = web.dir.join("start.log");
        processes.push(Beside::start(kind.command(&web.dir, &config)?.stderr(File::create(&log)?))?);
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok())
            .with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Self { port, _processes: processes })
    }
}

fn configuration(kind: Kind, web: &Web, port: u16) -> String {
    let user = |line: &'static str| if geteuid().is_root() { line } else { "" };
    kind.config()
        .replace("@USER nginx@", user("user www-data;"))
        .replace("@USER apache@", user("User www-data\nGroup www-data"))
        .replace("@USER lighttpd@", user("server.username = \"www-data\"\nserver.groupname = \"www-data\""))
        .replace("@PORT@", &port.to_string())
        .replace("@WEB@", &web.dir.display().to_string())
        .replace("@SITE@", &web.site.dir.display().to_string())
        .replace("@NAME@", &format!("book/{LARGE}.bin"))
        .replace("@FILE@", &web.site.file(LARGE).display().to_string())
}

fn fcgiwrap(web: &Path) -> Result<Beside> {
    let socket = web.join("fcgiwrap.socket");
    let mut command = as_web_user(&find("fcgiwrap")?);
    command.args(["-c", "4", "-s"]).arg(format!("unix:{}", socket.display()));
    let process = Beside::start_family(&mut command)?;
    wait_until("fcgiwrap listens", || socket.exists())?;
    Ok(process)
}

fn as_web_user(program: &Path) -> Command {
    if !geteuid().is_root() {
        return bare(program);
    }
    let mut command = bare("setpriv");
    command.args(["--reuid=www-data", "--regid=www-data", "--clear-groups", "--"]).arg(program);
    command
}

/// The servers' user writes sockets and temporary files there.
pub fn give(dir: &Path) -> Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    time(bare("chown").args(["-R", "www-data:www-data"]).arg(dir), &[0])
        .map(drop)
        .context("cannot give the directory to www-data")
}
