//! What an exporter finds when it starts: its directory, its parameters, its source, its environment.

use std::{
    ffi::CString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};

use crate::{
    commands::world::World,
    config::{
        Exporter,
        command::{self, Places},
        params::Values,
    },
    model::attempt::Claim,
    process::{self, Order},
};

/// Everything decided; an error is one sentence for the admin.
pub fn order(world: &World, exporter: &Exporter, claim: &Claim) -> anyhow::Result<Order> {
    let values = Values::from_json(exporter, &claim.params).map_err(|sentence| anyhow!(sentence))?;
    let work = world.site.make_work(&claim.attempt).context("cannot make the work directory")?;
    let output = exporter.file().map(|file| work.join(format!("out{}", file.extension)));
    let source = source(world, claim, &work)?;
    let parts = Parts { exporter, values: &values, work: &work, output: output.as_deref(), source: source.as_deref() };
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
            limits: claim.limits.clone(),
            log: world.site.log_of(&claim.attempt),
            log_max: self.exporter.log_max,
            attempt: claim.attempt.clone(),
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

/// The source's file, copied: a link would let the exporter change what visitors are being served.
fn source(world: &World, claim: &Claim, work: &Path) -> anyhow::Result<Option<PathBuf>> {
    let (Some(filename), Some(exporter)) = (&claim.source, source_exporter(world, claim)) else { return Ok(None) };
    let extension = exporter.file().map_or("", |file| &file.extension);
    let copy = work.join(format!("source{extension}"));
    fs::copy(world.cache.path(filename), &copy).with_context(|| format!("cannot read the source {filename}"))?;
    Ok(Some(copy))
}

fn source_exporter<'a>(world: &'a World, claim: &Claim) -> Option<&'a Exporter> {
    let derived = world.config.exporters.get(&claim.exporter)?;
    world.config.exporters.get(derived.source.as_ref()?)
}
