//! The sums of call sites as they stand in files: most of their numbers are 0, and there can be millions of sites.
//!
//! ```text
//! number of sites   the stack node of each, less the one before (zigzag varints)   columns of sums (`metrics`)
//! ```

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::NodeId;
use crate::metrics::{Chosen, Columns, Metrics, Rows};

/// Sites that were read, each with its stack node.
#[derive(Clone, Default, Debug)]
pub struct PackedSites {
    nodes: Vec<Option<NodeId>>,
    /// The unpacked payload of a block, and where the columns begin in it.
    payload: Vec<u8>,
    columns: usize,
}

impl PackedSites {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Stack node and sums of each.
    pub fn iter(&self) -> impl Iterator<Item = (Option<NodeId>, Metrics)> + '_ {
        // They were checked, so they can be read.
        let rows = Rows::read(&mut Unread::new(&self.payload[self.columns..]), self.nodes.len());
        let mut rows = rows.ok();
        self.nodes.iter().map_while(move |node| Some((*node, rows.as_mut()?.row().ok()?)))
    }

    /// The stack node of each.
    pub fn nodes(&self) -> &[Option<NodeId>] {
        &self.nodes
    }

    /// Puts other nodes in the place of these.
    pub fn rename(&mut self, name: impl Fn(NodeId) -> NodeId) {
        self.nodes.iter_mut().flatten().for_each(|node| *node = name(*node));
    }

    /// Those that come next in `bytes`, the last part of `payload`. They have no sums until they keep that.
    pub(crate) fn read(bytes: &mut Unread, payload: &[u8]) -> Result<PackedSites, Damage> {
        let sites = count(bytes)?;
        let mut nodes = Vec::with_capacity(sites);
        let mut before = 0i64;
        for _ in 0..sites {
            before = before.wrapping_add(unzigzag(bytes.varint()?));
            let node = u32::try_from(before).map_err(|_| Damage::Value("a node id beyond all ids"))?;
            nodes.push(NodeId::new(node));
        }
        let columns = payload.len() - bytes.remaining();
        Rows::read(bytes, sites)?.check()?;
        Ok(PackedSites { nodes, payload: Vec::new(), columns })
    }

    /// The same with their payload.
    pub(crate) fn keeping(self, payload: Vec<u8>) -> PackedSites {
        PackedSites { payload, ..self }
    }

    /// Goes past those that come next.
    pub(crate) fn skip(bytes: &mut Unread) -> Result<(), Damage> {
        let sites = count(bytes)?;
        bytes.skip_varints(sites)?;
        Rows::read(bytes, sites)?;
        Ok(())
    }
}

impl PartialEq for PackedSites {
    fn eq(&self, other: &PackedSites) -> bool {
        self.iter().eq(other.iter())
    }
}

/// No block has more.
const MAX_SITES: usize = 1 << 26;

/// How many sites follow: each takes a byte at least.
fn count(bytes: &mut Unread) -> Result<usize, Damage> {
    let count = bytes.varint()? as usize;
    match count > MAX_SITES || count > bytes.remaining() {
        true => Err(Damage::Value("more sites than the block can hold")),
        false => Ok(count),
    }
}

/// Sites that are being packed, one by one.
pub struct Packing<const N: usize> {
    count: usize,
    last_node: i64,
    nodes: Vec<u8>,
    columns: Columns<N>,
}

impl<const N: usize> Packing<N> {
    /// None yet. `of` are the counts that are kept.
    pub fn new(of: &'static Chosen<N>) -> Packing<N> {
        Packing { count: 0, last_node: 0, nodes: Vec::new(), columns: Columns::new(of) }
    }

    /// Adds a site by its numbers, in the order of the columns.
    pub fn push(&mut self, node: Option<NodeId>, sums: &[u64; N]) {
        self.push_node(node);
        self.columns.push(sums);
    }

    /// Adds a site.
    pub fn push_metrics(&mut self, node: Option<NodeId>, metrics: &Metrics) {
        self.push_node(node);
        self.columns.push_metrics(metrics);
    }

    fn push_node(&mut self, node: Option<NodeId>) {
        let number = i64::from(NodeId::or_zero(node));
        put_varint(&mut self.nodes, zigzag(number - self.last_node));
        self.last_node = number;
        self.count += 1;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes them.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.count as u64);
        out.extend_from_slice(&self.nodes);
        self.columns.put(out);
    }

    /// As they are read again.
    pub fn read_back(&self) -> Result<PackedSites, Damage> {
        let mut payload = Vec::new();
        self.put(&mut payload);
        Ok(PackedSites::read(&mut Unread::new(&payload), &payload)?.keeping(payload))
    }
}
