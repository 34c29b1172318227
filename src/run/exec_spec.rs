//! What an exporter finds when it starts: its directory, its parameters, its source, its environment.

use std::{
    ffi::CString,
    fmt,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail};

use crate::{
    config::{
        Exporter,
        command::{self, Places},
        params::Values,
    },
    context::Context,
    model::job::Claim,
    request::{Ask, fit, source_of},
    supervise::{self, ExecSpec},
};

/// The claim does not fit the configuration as it is now.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

/// Everything decided; an error is one sentence for the admin.
///
/// The claim may have come by way of the database: what it says of the file is checked, and what the configuration says
/// (limits, queues, the source) is taken from there.
pub fn order(context: &Context, exporter: &Exporter, claim: &Claim) -> anyhow::Result<ExecSpec> {
    let ask = fit::fit(&context.config, &claim.exporter, &claim.params, &claim.filename);
    let ask = ask.map_err(SetupError)?;
    if !fit::may_be_in(&ask, &claim.queue) {
        bail!(SetupError(format!("its exporter does not use its queue, {}", claim.queue)));
    }
    let work = context.site.make_work(&claim.attempt).context("cannot make the work directory")?;
    let output = exporter.file().map(|file| work.join(format!("out{}", file.extension)));
    let source = source(context, &ask, &work)?;
    let parts =
        SpecParts { exporter, values: &ask.values, work: &work, output: output.as_deref(), source: source.as_deref() };
    parts.order(context, claim)
}

/// The pieces that an order is put together from.
pub struct SpecParts<'a> {
    pub exporter: &'a Exporter,
    pub values: &'a Values,
    pub work: &'a Path,
    pub output: Option<&'a Path>,
    pub source: Option<&'a Path>,
}

impl SpecParts<'_> {
    pub fn order(&self, context: &Context, claim: &Claim) -> anyhow::Result<ExecSpec> {
        let params = self.work.join("params.json");
        fs::write(&params, &claim.params).context("cannot write the parameters")?;
        let argv = self.argv()?;
        let first = argv.first().context("the command is empty")?;
        let path = self.exporter.env.get("PATH").map_or(command::PATH, |path| path);
        let program = supervise::resolve(first, path).with_context(|| format!("{first} is not an executable file"))?;
        Ok(ExecSpec {
            program,
            argv: argv.into_iter().map(CString::new).collect::<Result<_, _>>()?,
            env: self.environment(&claim.attempt, &params)?,
            work: self.work.to_owned(),
            output: self.output.map(Path::to_owned),
            limits: fit::limits(self.exporter, &claim.limits),
            log: context.site.log_of(&claim.attempt),
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
        Ok(supervise::environment(self.work, &self.exporter.env, &own)?)
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).context("the state directory's path is not UTF-8")
}

/// The source's file, copied: a link would let the exporter change what visitors are being served. Which file that is,
/// the configuration says, and what is copied is what was opened.
fn source(context: &Context, ask: &Ask, work: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some(source) = source_of(&context.config, ask)? else { return Ok(None) };
    let extension = source.exporter.file().map_or("", |file| &file.extension);
    let copy = work.join(format!("source{extension}"));
    let cannot = || format!("cannot read the source {}", source.filename);
    let mut from = context.cache.open_own(&source.filename).with_context(cannot)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o440).open(&copy)?;
    io::copy(&mut from, &mut to).with_context(cannot)?;
    Ok(Some(copy))
}
