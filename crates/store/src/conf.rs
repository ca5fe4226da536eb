//! Membership changes, with the checks that etcd makes when it applies them.

use crate::cluster::MemberRow;
use crate::outcome::ConfOutcome;
use crate::store::Store;
use proto::conf::Action;
use types::{MemberId, OpError};

impl Store {
    /// Applies a change, or says why it cannot be. The entries that a cluster was founded with,
    /// which nobody proposed, tell a founder what it knows and a member that joined what it does not.
    pub(crate) fn change_members(
        &mut self,
        id: MemberId,
        action: &Action,
        is_founding: bool,
    ) -> Result<ConfOutcome, OpError> {
        if self.is_removed(id) {
            return Err(OpError::MemberNotFound);
        }
        let known = self.cluster.members.get(&id).cloned();
        match action {
            Action::Add(_) if is_founding && known.is_some() => Ok(ConfOutcome::Voter),
            Action::Add(_) | Action::AddLearner(_) if known.is_some() => Err(OpError::MemberExists),
            Action::Add(urls) => self.join(id, urls, false),
            Action::AddLearner(urls) => self.join(id, urls, true),
            Action::Promote => match known {
                None => Err(OpError::MemberNotFound),
                Some(row) if !row.is_learner => Err(OpError::MemberNotLearner),
                Some(row) => {
                    self.set_member(MemberRow { is_learner: false, ..row });
                    Ok(ConfOutcome::Voter)
                }
            },
            Action::Remove => {
                let row = known.ok_or(OpError::MemberNotFound)?;
                let voters = self.members().filter(|row| !row.is_learner).count();
                if !row.is_learner && voters == 1 {
                    // Nobody would be left to decide anything.
                    return Err(OpError::NotEnoughStarted);
                }
                self.remove_member(id);
                Ok(ConfOutcome::Removed)
            }
            Action::Update(urls) => {
                let row = known.ok_or(OpError::MemberNotFound)?;
                self.check_urls(id, urls)?;
                self.set_member(MemberRow { peer_urls: urls.clone(), ..row });
                Ok(ConfOutcome::Updated)
            }
        }
    }

    fn join(
        &mut self,
        id: MemberId,
        urls: &[String],
        is_learner: bool,
    ) -> Result<ConfOutcome, OpError> {
        self.check_urls(id, urls)?;
        let peer_urls = urls.to_vec();
        self.set_member(MemberRow { id, peer_urls, is_learner, ..MemberRow::default() });
        Ok(if is_learner { ConfOutcome::Learner } else { ConfOutcome::Voter })
    }

    /// No two members are reached at one URL.
    fn check_urls(&self, id: MemberId, urls: &[String]) -> Result<(), OpError> {
        let mut others = self.members().filter(|row| row.id != id);
        if others.any(|row| row.peer_urls.iter().any(|url| urls.contains(url))) {
            return Err(OpError::PeerUrlExists);
        }
        Ok(())
    }
}
