//! Requests the member has not answered yet, by the ids that it knows them under.

use super::outbox::ReplyTo;
use super::timing::Asked;
use member::RequestId;

/// Open requests. An id is a place and how often the place was used, so that an answer that comes
/// late never reaches another caller.
#[derive(Debug, Default)]
pub struct Calls {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place {
    used: u32,
    to: Option<(ReplyTo, Asked)>,
}

impl Calls {
    /// Remembers who asks.
    pub(super) fn insert(&mut self, to: ReplyTo, asked: Asked) -> RequestId {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { used: 0, to: None });
            u32::try_from(self.places.len() - 1).expect("requests in flight are limited")
        });
        let place = &mut self.places[at as usize];
        place.to = Some((to, asked));
        RequestId(u64::from(place.used) << 32 | u64::from(at))
    }

    /// Who asked; `None` for an id that was answered before.
    pub(super) fn remove(&mut self, id: RequestId) -> Option<(ReplyTo, Asked)> {
        let place = self.place(id)?;
        let to = place.to.take()?;
        place.used = place.used.wrapping_add(1);
        self.free.push(at(id));
        Some(to)
    }

    /// Who asked, as `remove` would give it.
    pub(super) fn get_mut(&mut self, id: RequestId) -> Option<&mut (ReplyTo, Asked)> {
        self.place(id)?.to.as_mut()
    }

    fn place(&mut self, id: RequestId) -> Option<&mut Place> {
        let place = self.places.get_mut(at(id) as usize)?;
        (u64::from(place.used) == id.0 >> 32).then_some(place)
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// True if none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The place of an id: its lower half.
fn at(id: RequestId) -> u32 {
    let [_, _, _, _, a, b, c, d] = id.0.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}
