//! A sorted list of keys in one buffer: what all keys begin with is stored once.

/// Sorted, distinct keys. Kubernetes keys are long and begin alike, so that a node of the tree
/// holds them at about half their size, and a search in it touches two cache lines, not ten.
#[derive(Default, Debug)]
pub(crate) struct Keys {
    /// What every key begins with; not necessarily the longest such prefix.
    prefix: Vec<u8>,
    /// The rest of each key, one after the other.
    suffixes: Vec<u8>,
    marks: Vec<Mark>,
}

/// What a search looks at first, without going to the suffixes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// See [`head`].
    head: u32,
    /// Where the suffix ends.
    end: u32,
}

/// The first bytes as a number, zeros where there are none: numbers that differ are in the order
/// of the bytes.
fn head(suffix: &[u8]) -> u32 {
    let mut first = [0; 4];
    let len = suffix.len().min(4);
    first[..len].copy_from_slice(&suffix[..len]);
    u32::from_be_bytes(first)
}

/// Position in a buffer of suffixes.
fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("a node holds few keys of at most some MiB")
}

/// How many bytes `a` and `b` begin with in common.
pub(crate) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.marks[at - 1].end as usize }
    }

    fn suffix(&self, at: usize) -> &[u8] {
        &self.suffixes[self.start(at)..self.marks[at].end as usize]
    }

    /// The key at a position, in its two parts.
    pub(crate) fn parts(&self, at: usize) -> (&[u8], &[u8]) {
        (&self.prefix, self.suffix(at))
    }

    /// True if this is the key at a position.
    pub(crate) fn is_at(&self, at: usize, key: &[u8]) -> bool {
        key.strip_prefix(self.prefix.as_slice()).is_some_and(|rest| rest == self.suffix(at))
    }

    /// The key at a position.
    pub(crate) fn get(&self, at: usize) -> Vec<u8> {
        let (prefix, suffix) = self.parts(at);
        [prefix, suffix].concat()
    }

    /// Where the key is, or where it belongs.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        let shared = self.prefix.len().min(key.len());
        match key[..shared].cmp(&self.prefix[..shared]) {
            std::cmp::Ordering::Less => return Err(0),
            std::cmp::Ordering::Greater => return Err(self.len()),
            std::cmp::Ordering::Equal if key.len() < self.prefix.len() => return Err(0),
            std::cmp::Ordering::Equal => {}
        }
        let rest = &key[shared..];
        let rest_head = head(rest);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let order = self.marks[middle].head.cmp(&rest_head);
            match order.then_with(|| self.suffix(middle).cmp(rest)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Puts the key at the position where it belongs.
    pub(crate) fn insert(&mut self, at: usize, key: &[u8]) {
        if self.len() == 0 {
            self.prefix = key.to_vec();
            self.suffixes.clear();
        } else if !key.starts_with(&self.prefix) {
            self.shorten_prefix(common_len(&self.prefix, key));
        }
        let rest = &key[self.prefix.len()..];
        let start = self.start(at);
        if self.suffixes.capacity() < self.suffixes.len() + rest.len() {
            self.suffixes.reserve_exact(rest.len() * 4);
        }
        self.suffixes.splice(start..start, rest.iter().copied());
        if self.marks.len() == self.marks.capacity() {
            self.marks.reserve_exact(8);
        }
        self.marks.insert(at, Mark { head: head(rest), end: offset(start) });
        for mark in &mut self.marks[at..] {
            mark.end += offset(rest.len());
        }
    }

    /// Takes the key at a position out.
    pub(crate) fn remove(&mut self, at: usize) {
        let (start, end) = (self.start(at), self.marks[at].end as usize);
        self.suffixes.drain(start..end);
        self.marks.remove(at);
        for later in &mut self.marks[at..] {
            later.end -= offset(end - start);
        }
    }

    /// Cuts the keys from a position on off.
    pub(crate) fn split_off(&mut self, at: usize) -> Keys {
        let start = self.start(at);
        let moved = self.marks[at..].iter();
        let mut right = Keys {
            prefix: self.prefix.clone(),
            suffixes: self.suffixes[start..].to_vec(),
            marks: moved.map(|mark| Mark { end: mark.end - offset(start), ..*mark }).collect(),
        };
        self.suffixes.truncate(start);
        self.marks.truncate(at);
        self.lengthen_prefix();
        right.lengthen_prefix();
        right
    }

    /// Puts keys that all follow these behind them.
    pub(crate) fn append(&mut self, right: &Keys) {
        for at in 0..right.len() {
            self.insert(self.len(), &right.get(at));
        }
    }

    /// The shortest key above the one at `at - 1` and not above the one at `at`.
    pub(crate) fn separator(&self, at: usize) -> Vec<u8> {
        let (left, right) = (self.suffix(at - 1), self.suffix(at));
        let mut separator = self.prefix.clone();
        separator.extend_from_slice(&right[..common_len(left, right) + 1]);
        separator
    }

    /// Bytes on the heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.prefix.capacity()
            + self.suffixes.capacity()
            + self.marks.capacity() * size_of::<Mark>()
    }

    fn shorten_prefix(&mut self, len: usize) {
        let moved = self.prefix.split_off(len);
        self.rebuild(|suffix, out| {
            out.extend_from_slice(&moved);
            out.extend_from_slice(suffix);
        });
    }

    fn lengthen_prefix(&mut self) {
        if self.len() == 0 {
            return;
        }
        let extra = common_len(self.suffix(0), self.suffix(self.len() - 1));
        let mut prefix = Vec::with_capacity(self.prefix.len() + extra);
        prefix.extend_from_slice(&self.prefix);
        prefix.extend_from_slice(&self.suffix(0)[..extra]);
        self.prefix = prefix;
        self.rebuild(|suffix, out| out.extend_from_slice(&suffix[extra..]));
    }

    fn rebuild(&mut self, mut write: impl FnMut(&[u8], &mut Vec<u8>)) {
        let mut suffixes = Vec::with_capacity(self.suffixes.len());
        let mut start = 0;
        for mark in &mut self.marks {
            let from = suffixes.len();
            write(&self.suffixes[start..mark.end as usize], &mut suffixes);
            start = mark.end as usize;
            *mark = Mark { head: head(&suffixes[from..]), end: offset(suffixes.len()) };
        }
        self.suffixes = suffixes;
    }
}
