//! What an exporter finds when it starts: its directory, its parameters, its source, its environment.

use std::{
    ffi::CString,
    fmt,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};

use crate::{
    commands::{
        fit,
        request::{Ask, source_of},
        world::World,
    },
    config::{
        Exporter,
        command::{self, Places},
        params::Values,
    },
    model::attempt::Claim,
    process::{self, Order},
};

/// The claim does not fit the configuration as it is now.
#[derive(Debug)]
pub struct Misfit(String);

impl fmt::Display for Misfit {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

/// Everything decided; an error is one sentence for the admin.
///
/// The claim may have come by way of the database: what it says of the file is checked, and what the configuration says
/// (limits, queues, the source) is taken from there.
pub fn order(world: &World, exporter: &Exporter, claim: &Claim) -> anyhow::Result<Order> {
    let ask = fit::fit(&world.config, &claim.exporter, &claim.params, &claim.filename);
    let ask = ask.map_err(Misfit)?;
    if !fit::may_be_in(&ask, &claim.queue) {
        bail!(Misfit(format!("its queue, {}, is none of its exporter's", claim.queue)));
    }
    let work = world.site.make_work(&claim.attempt).context("cannot make the work directory")?;
    let output = exporter.file().map(|file| work.join(format!("out{}", file.extension)));
    let source = source(world, &ask, &work)?;
    let parts =
        Parts { exporter, values: &ask.values, work: &work, output: output.as_deref(), source: source.as_deref() };
    parts.order(world, claim)
}

/// The pieces that an order is put together from.
pub struct Parts<'a> {
    pub exporter: &'a Exporter,
    pub values: &'a Values,
    pub work: &'a Path,
    pub output: Option<&'a Path>,
    pub source: Option<&'a Path>,
}

impl Parts<'_> {
    pub fn order(&self, world: &World, claim: &Claim) -> anyhow::Result<Order> {
        let params = self.work.join("params.json");
        fs::write(&params, &claim.params).context("cannot write the parameters")?;
        let argv = self.argv()?;
        let first = argv.first().context("the command is empty")?;
        let path = self.exporter.env.get("PATH").map_or(command::PATH, |path| path);
        let program = process::resolve(first, path).with_context(|| format!("{first} is not an executable file"))?;
        Ok(Order {
            program,
            argv: argv.into_iter().map(CString::new).collect::<Result<_, _>>()?,
            env: self.environment(&claim.attempt, &params)?,
            work: self.work.to_owned(),
            output: self.output.map(Path::to_owned),
            limits: fit::limits(self.exporter, &claim.limits),
            log: world.site.log_of(&claim.attempt),
            log_max: self.exporter.log_max,
            attempt: claim.attempt.to_string(),
            progress: self.work.join("progress"),
            message: self.work.join("message"),
        })
    }

    fn argv(&self) -> anyhow::Result<Vec<String>> {
        let work = text(self.work)?;
        let output = self.output.map(text).transpose()?.unwrap_or_default();
        let source = self.source.map(text).transpose()?;
        let places = Places { output: &output, source: source.as_deref(), work: &work };
        command::argv(self.exporter, self.values, &places).map_err(|sentence| anyhow!(sentence))
    }

    /// The `PRESSROOM_…` variables of the exporter's contract.
    fn environment(&self, attempt: &str, params: &Path) -> anyhow::Result<Vec<CString>> {
        let (progress, message) = (text(&self.work.join("progress"))?, text(&self.work.join("message"))?);
        let (params, output) = (text(params)?, self.output.map(text).transpose()?);
        let source = self.source.map(text).transpose()?;
        let mut own = vec![
            ("PRESSROOM_ATTEMPT", attempt),
            ("PRESSROOM_PARAMS", &params),
            ("PRESSROOM_PROGRESS", &progress),
            ("PRESSROOM_MESSAGE", &message),
        ];
        own.extend(output.as_deref().map(|path| ("PRESSROOM_OUTPUT", path)));
        own.extend(source.as_deref().map(|path| ("PRESSROOM_SOURCE", path)));
        Ok(process::environment(self.work, &self.exporter.env, &own)?)
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).context("the state directory's path is not UTF-8")
}

/// The source's file, copied: a link would let the exporter change what visitors are being served. Which file that is,
/// the configuration says, and what is copied is what was opened.
fn source(world: &World, ask: &Ask, work: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some(source) = source_of(&world.config, ask)? else { return Ok(None) };
    let extension = source.exporter.file().map_or("", |file| &file.extension);
    let copy = work.join(format!("source{extension}"));
    let cannot = || format!("cannot read the source {}", source.filename);
    let mut from = world.cache.open_own(&source.filename).with_context(cannot)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o440).open(&copy)?;
    io::copy(&mut from, &mut to).with_context(cannot)?;
    Ok(Some(copy))
}
