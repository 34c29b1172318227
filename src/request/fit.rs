//! What a row stands for. Nothing of a row is believed that the configuration and its parameters tell: the filename has to
//! be the one that they give, its queue one that the exporter uses; its source and its limits come from the configuration.

use super::Ask;
use crate::{
    config::{
        Config, Exporter,
        params::{self, Values},
    },
    model::limits::Limits,
};

/// The wish behind a row, by the configuration as it is now, or one sentence saying why there is none.
pub fn fit<'a>(config: &'a Config, exporter: &str, params: &str, filename: &str) -> Result<Ask<'a>, String> {
    let gone = || format!("there is no exporter {exporter} any more");
    let exporter = config.exporters.get(exporter).ok_or_else(gone)?;
    let values = Values::from_json(exporter, params)?;
    let named = params::filename(exporter, &values);
    if named != filename {
        return Err(format!("the configuration has changed: the same parameters now name {named}"));
    }
    let ask = Ask::of(exporter, values);
    ask.check_sources(config)?;
    Ok(ask)
}

/// Whether jobs for this wish may be in this queue: its lane's, or the one in which those go on that were too big for it.
pub fn may_be_in(ask: &Ask, queue: &str) -> bool {
    queue == home(ask) || queue == ask.exporter.queue
}

/// The queue in which a request would put it now.
pub fn home<'a>(ask: &Ask<'a>) -> &'a str {
    params::lane(ask.exporter, &ask.values)
}

/// The limits of a row, as far as the exporter allows them.
pub fn limits(exporter: &Exporter, row: &Limits) -> Limits {
    row.within(&exporter.limits, &exporter.limits_max)
}
