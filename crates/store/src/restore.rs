//! A store at start: empty, or from what the backend holds.

use crate::Error;
use crate::alarm::Alarms;
use crate::chain;
use crate::cluster::Cluster;
use crate::counters::Counters;
use crate::flush::Unflushed;
use crate::store::{Config, Store};
use crate::table::tables;
use crate::window::Window;
use backend::{Recovered, TableId};
use bytes::Bytes;
use lease::{Row, Table};
use mvcc::{Keyspace, Restore};
use types::{Index, LeaseId, Term};
use watch::Hub;

impl Store {
    /// An empty store: revision 1, nothing applied.
    pub fn new(config: Config) -> Store {
        let keyspace = Keyspace::new(config.mvcc);
        Store::with(config, keyspace)
    }

    fn with(config: Config, keyspace: Keyspace) -> Store {
        let hub = Hub::new(config.watch.clone(), keyspace.revision(), keyspace.compacted());
        Store {
            config,
            keyspace,
            leases: Table::default(),
            hub,
            alarms: Alarms::default(),
            cluster: Cluster::default(),
            window: Window::default(),
            chain: 0,
            applied: Index(0),
            term: Term(0),
            unflushed: Unflushed::default(),
            reader: backend::Reader::default(),
            suspended: None,
            fetched: None,
            is_warm: false,
            is_flushed: false,
            counters: Counters::default(),
        }
    }

    /// The store as of the last flush job; the log's entries after it are applied next.
    pub fn restore(config: Config, recovered: &mut Recovered) -> Result<Store, Error> {
        let meta = &recovered.meta;
        if meta.applied == Index(0) && meta.revision == 0 {
            let mut store = Store::new(config);
            store.reader = recovered.reader.clone();
            return Ok(store);
        }
        let mut leases = Table::default();
        for (key, value) in rows(recovered, tables::LEASES) {
            let row = Row::decode(key, value).map_err(|_| Error::Table("leases"))?;
            leases.restore(&row);
        }
        let meta = recovered.meta.clone();
        let mut restore = Restore::new(config.mvcc, meta.revision, meta.compacted);
        while let Some(found) = recovered.scan.next_record()? {
            let record = found.to_record();
            restore.feed(&record).map_err(|_| Error::Record(record.revision))?;
        }
        let restored = restore.finish();
        restored.keyspace.each_leased(|key, id| {
            if leases.contains(id) {
                leases.attach(&key, LeaseId(0), id);
            }
        });
        let mut store = Store::with(config, restored.keyspace);
        store.leases = leases;
        store.unflushed.removals = restored.garbage;
        store.reader = recovered.reader.clone();
        (store.applied, store.term) = (meta.applied, meta.term);
        store.restore_tables(recovered)?;
        Ok(store)
    }

    fn restore_tables(&mut self, recovered: &Recovered) -> Result<(), Error> {
        for (key, _) in rows(recovered, tables::ALARMS) {
            self.alarms.restore(key)?;
        }
        for (_, value) in rows(recovered, tables::MEMBERS) {
            self.cluster.restore_member(value)?;
        }
        for (key, _) in rows(recovered, tables::REMOVED) {
            self.cluster.restore_removed(key)?;
        }
        for (key, value) in rows(recovered, tables::CLUSTER) {
            self.cluster.restore_text(key, value)?;
        }
        for (key, value) in rows(recovered, tables::WINDOW) {
            self.window.restore(key, value)?;
        }
        for (_, value) in rows(recovered, tables::CHAIN) {
            self.chain = chain::decode(value)?;
        }
        Ok(())
    }
}

fn rows(recovered: &Recovered, table: TableId) -> impl Iterator<Item = (&Bytes, &Bytes)> {
    recovered.tables.get(&table).into_iter().flatten()
}
