//! Values under small numbers that are used again.

/// A growing table with free places.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts a value in and tells its number.
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = Some(value);
                at
            }
            None => {
                self.places.push(Some(value));
                u32::try_from(self.places.len() - 1).expect("calls of a connection are limited")
            }
        }
    }

    /// The value of a number.
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    /// Takes the value of a number out.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        let value = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(value)
    }

    /// Numbers below this may have a value.
    pub fn end(&self) -> u32 {
        u32::try_from(self.places.len()).expect("calls of a connection are limited")
    }

    /// Values held.
    pub fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
