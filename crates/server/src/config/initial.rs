//! The first configuration of a cluster: `--initial-cluster` and what must hold for it (contract
//! §4.6). It counts on a fresh data folder only; later the log knows better.

use super::settings::Config;
use super::url::Url;
use member::identity;
use types::{ClusterId, MemberId};

/// One member as `--initial-cluster` names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Founder {
    /// Its name.
    pub name: String,
    /// Where peers reach it.
    pub urls: Vec<Url>,
    /// Its id in a new cluster, from URLs and token.
    pub id: MemberId,
}

/// Follows name and peer URLs when it is not given.
pub(super) fn cluster(given: &str, name: &str, peers: &[Url]) -> String {
    match given {
        "" => peers.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(","),
        given => given.to_string(),
    }
}

/// Reads `name=url,name=url…`; members in the order of their names.
pub(super) fn parse(text: &str, token: &str) -> Result<Vec<Founder>, String> {
    let mut founders: Vec<Founder> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, url) = part.split_once('=').unwrap_or((part, ""));
        let url = Url::parse(url)?;
        match founders.iter_mut().find(|founder| founder.name == name) {
            Some(founder) => founder.urls.push(url),
            None => {
                let name = name.to_string();
                founders.push(Founder { name, urls: vec![url], id: MemberId(0) });
            }
        }
    }
    for founder in &mut founders {
        founder.urls.sort_by_key(ToString::to_string);
        founder.id = identity::member_id(&texts(&founder.urls), token);
    }
    founders.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(founders)
}

/// URLs as text.
pub(crate) fn texts(urls: &[Url]) -> Vec<String> {
    urls.iter().map(ToString::to_string).collect()
}

/// Id of the cluster that these members found.
pub(super) fn cluster_id(founders: &[Founder]) -> ClusterId {
    let ids: Vec<MemberId> = founders.iter().map(|founder| founder.id).collect();
    identity::cluster_id(&ids)
}

impl Config {
    /// This member among the founders.
    pub fn own(&self) -> Result<&Founder, String> {
        self.founders.iter().find(|founder| founder.name == self.name).ok_or_else(|| {
            format!("couldn't find local name {:?} in the initial cluster configuration", self.name)
        })
    }

    /// Checks a new cluster, in etcd's order and words.
    pub fn verify_bootstrap(&self) -> Result<(), String> {
        let own = self.own()?;
        self.verify_advertised(own)?;
        self.verify_urls()?;
        for (at, founder) in self.founders.iter().enumerate() {
            if self.founders[..at].iter().any(|other| other.id == founder.id) {
                return Err(format!("member exists with identical ID {:x}", founder.id.0));
            }
        }
        Ok(())
    }

    /// Checks the configuration of a member that joins, in etcd's order and words.
    pub fn verify_join(&self) -> Result<(), String> {
        self.own()?;
        self.verify_urls()
    }

    fn verify_urls(&self) -> Result<(), String> {
        let mut urls: Vec<&Url> = self.founders.iter().flat_map(|founder| &founder.urls).collect();
        urls.sort();
        if urls.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!("initial cluster {} has duplicate url", self.initial_cluster));
        }
        Ok(())
    }

    fn verify_advertised(&self, own: &Founder) -> Result<(), String> {
        let advertised = &self.advertise_peer_urls;
        let named = |urls: &[&Url]| {
            urls.iter().map(|url| format!("{}={url}", self.name)).collect::<Vec<_>>().join(",")
        };
        let lacks = |have: &[Url], want: &[Url]| {
            let missing: Vec<&Url> = want.iter().filter(|url| !have.contains(url)).collect();
            (!missing.is_empty()).then(|| named(&missing))
        };
        if let Some(missing) = lacks(advertised, &own.urls) {
            return Err(format!(
                "--initial-cluster has {missing} but missing from \
                 --initial-advertise-peer-urls={}",
                texts(advertised).join(",")
            ));
        }
        if let Some(missing) = lacks(&own.urls, advertised) {
            return Err(format!(
                "--initial-advertise-peer-urls has {missing} but missing from \
                 --initial-cluster={}",
                self.initial_cluster
            ));
        }
        Ok(())
    }
}
