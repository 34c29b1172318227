//! A hit over CGI, behind the web servers that people have: requests per second, two at a time.

mod load;
mod server;

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    contender::{Contender, in_turns},
    group::{Goal, Group, Unit},
    setup::Setup,
    site::Site,
};
use load::load;
use server::{Kind, Server};

/// The sizes of the two files; each title is the size of its file.
const SMALL: &str = "3";
const LARGE: &str = "1000000";

/// The directory that the servers are configured for: a site, and CGI programs that use it or do next to nothing.
struct Web {
    site: Site,
    dir: PathBuf,
}

pub fn measure(setup: &Setup) -> Result<Vec<Group>> {
    let web = Web::new(setup)?;
    let mut groups = Vec::new();
    for kind in [Kind::Nginx, Kind::Apache, Kind::Lighttpd] {
        match behind(setup, &web, kind) {
            Ok(found) => groups.extend(found),
            Err(error) => eprintln!("bench: {} is left out: {error:#}", kind.name()),
        }
    }
    Ok(groups)
}

fn behind(setup: &Setup, web: &Web, kind: Kind) -> Result<Vec<Group>> {
    let server = Server::start(kind, web)?;
    let name = kind.name();
    let small =
        [("cgi-bin/pressroom.cgi/book", SMALL, "pressroom"), ("cgi-bin/cgi-small", SMALL, "static C program, 3 bytes")];
    let stream = [
        ("cgi-bin/pressroom.cgi/book", LARGE, "pressroom"),
        ("cgi-bin/cgi-stream", LARGE, "static C program, 1 MB in pieces"),
    ];
    let accel =
        [("accel/pressroom.cgi/book", LARGE, "pressroom"), ("accel/cgi-accel", LARGE, "static C program, X-Accel")];
    let at_least = |times| [("static C", Goal::AtLeast(times))];
    let mut groups = vec![
        pair(setup, &server, "web-small", &format!("{name}: 3 bytes"), small, &at_least(0.8))?,
        pair(setup, &server, "web-stream", &format!("{name}: 1 MB"), stream, &at_least(1.0))?,
    ];
    if kind == Kind::Nginx {
        groups.push(pair(setup, &server, "web-stream", "nginx: 1 MB, X-Accel", accel, &at_least(0.85))?);
    }
    Ok(groups.into_iter().flatten().collect())
}

/// Address, size of the answer and name of each.
fn pair(
    setup: &Setup,
    server: &Server,
    figure: &'static str,
    what: &str,
    pair: [(&str, &str, &str); 2],
    goals: &[(&str, Goal)],
) -> Result<Option<Group>> {
    let contenders = pair.map(|(path, size, name)| {
        let url = format!("http://127.0.0.1:{}/{path}?title={size}", server.port);
        Contender::new(name, move || load(&url, size, setup.pick(2, 1)))
    });
    let samples = in_turns(contenders.into(), setup.pick(5, 2), 1)?;
    Ok(Group::among(figure, what, Unit::PerSecond, samples, goals))
}

impl Web {
    fn new(setup: &Setup) -> Result<Self> {
        let script = r#"head -c "$1" /dev/zero >"$2""#;
        let site = Site::shared(setup, "w", &["/bin/sh", "-c", script, "sh", "{title}", "{output}"])?;
        site.make(SMALL)?;
        site.make(LARGE)?;
        let config = fs::read_to_string(site.config())?;
        fs::write(site.dir.join("accel.toml"), config + "[http]\nsendfile = \"x-accel-redirect:/files\"\n")?;
        let web = Self { dir: setup.room("web")?, site };
        web.install(setup)?;
        server::give(&web.dir)?;
        Ok(web)
    }

    /// The programs go where the servers' user can reach them, whoever owns the directory that they were built in.
    fn install(&self, setup: &Setup) -> Result<()> {
        let bin = self.dir.join("cgi-bin");
        fs::create_dir(&bin)?;
        for name in ["cgi-small", "cgi-stream", "cgi-accel"] {
            fs::copy(setup.floor(name), bin.join(name)).with_context(|| format!("cannot copy {name}"))?;
        }
        let program = self.dir.join("pressroom");
        fs::copy(&setup.pressroom, &program)?;
        Ok(std::os::unix::fs::symlink(program, bin.join("pressroom.cgi"))?)
    }
}
