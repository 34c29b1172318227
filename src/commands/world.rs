//! What every command begins with: the configuration and the places that it names.

use crate::{
    cache::Cache,
    cli::Global,
    config::{self, Config},
    exit::{Exit, Failure},
    site::Site,
    store::Store,
};

/// The configuration, read once, and the state directory that it names; nothing there has been looked at yet.
pub struct World {
    pub config: Config,
    pub site: Site,
    pub cache: Cache,
}

impl World {
    pub fn load(global: &Global) -> Result<Self, Failure> {
        let file = config::locate(global.config.as_deref());
        let config = config::load(&file).map_err(|error| Failure::new(Exit::Config, error))?;
        let site = Site::new(config.state_dir.clone());
        let cache = Cache::new(site.cache());
        Ok(Self { config, site, cache })
    }

    /// The database, which only `check --create` makes.
    pub fn open_store(&self) -> Result<Store, Failure> {
        Store::open(&self.config.database).map_err(|error| Failure::from(anyhow::Error::from(error)))
    }
}
