//! Reads events blocks.

use super::column::Column;
use super::columns::Unpacked;
use super::guesses::{Guesses, Site, site_key};
use super::{EXCESS, EventsHeader, flag, header, reference, thread};
use crate::Damage;
use crate::bytes::{Unread, unzigzag};
use crate::event::{Block, Event};
use crate::ids::{Address, BlockNo, Bytes, NodeId, Units};
use crate::op::{Effect, Op};

/// Turns payloads back into events.
pub struct Decoder {
    guesses: Guesses,
    columns: Unpacked,
    addresses: Vec<Address>, // of the blocks acquired in this events block
}

impl Decoder {
    /// One decoder can read any number of payloads, one after the other.
    pub fn new() -> Self {
        Decoder { guesses: Guesses::new(), columns: Unpacked::new(), addresses: Vec::new() }
    }

    /// Replaces the content of `events` with the events of `payload`. On an error, `events` holds those before it.
    pub fn decode(&mut self, payload: &[u8], events: &mut Vec<Event>) -> Result<EventsHeader, Damage> {
        events.clear();
        let mut bytes = Unread::new(payload);
        let header = header(&mut bytes)?;
        self.columns.unpack(&mut bytes)?;
        self.guesses.restart(header.first_thread);
        self.addresses.clear();
        let column = |which| self.columns.column(which);
        let mut replay = Replay {
            guesses: &mut self.guesses,
            addresses: &mut self.addresses,
            flags: column(Column::Flags),
            times: column(Column::Time),
            durations: column(Column::Duration),
            sites: column(Column::Site),
            sites_high: column(Column::SiteHigh),
            excess: column(Column::Excess),
            new_sites: column(Column::NewSite),
            sizes: column(Column::Size),
            distances: column(Column::Address),
            references: column(Column::Reference),
            threads: column(Column::Thread),
            first_block: header.first_block.0,
            time: header.first_time.0,
            last_node: None,
            last_address: Address::NULL,
        };
        events.reserve(header.count);
        for _ in 0..header.count {
            events.push(replay.event()?);
        }
        Ok(header)
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the decoder stands in each column.
struct Replay<'a> {
    guesses: &'a mut Guesses,
    addresses: &'a mut Vec<Address>,
    flags: Unread<'a>,
    times: Unread<'a>,
    durations: Unread<'a>,
    sites: Unread<'a>,
    sites_high: Unread<'a>,
    excess: Unread<'a>,
    new_sites: Unread<'a>,
    sizes: Unread<'a>,
    distances: Unread<'a>,
    references: Unread<'a>,
    threads: Unread<'a>,
    first_block: u64,
    time: u64,
    last_node: Option<NodeId>,
    last_address: Address,
}

impl Replay<'_> {
    #[inline(always)]
    fn event(&mut self) -> Result<Event, Damage> {
        let flags = self.flags.byte()?;
        if flags & flag::OTHER_THREAD != 0 {
            self.guesses.switch_thread(thread(&mut self.threads)?);
        }
        let elapsed = short(&mut self.times, &mut self.excess)?;
        self.time = self.time.checked_add(elapsed).ok_or(Damage::Value("a time beyond all times"))?;
        let duration = Units(short(&mut self.durations, &mut self.excess)?);
        if flags & flag::RELEASE != 0 { self.release(flags, duration) } else { self.acquire(flags, duration) }
    }

    #[inline(always)]
    fn release(&mut self, flags: u8, duration: Units) -> Result<Event, Damage> {
        let mut index = u64::MAX; // the block's number, counted from the beginning of this events block
        let block = match self.references.varint()? {
            reference::NULL => Block::Null,
            reference::UNKNOWN => Block::Unknown,
            distance => {
                let acquired = self.first_block + self.addresses.len() as u64;
                let number = acquired
                    .checked_sub(distance - reference::DISTANCE + 1)
                    .ok_or(Damage::Value("a block that never was"))?;
                index = number.wrapping_sub(self.first_block);
                Block::Number(BlockNo(number))
            }
        };
        let recent = self.guesses.recent(index);
        let (number, site) = self.site(flags, self.guesses.releasing_site(recent))?;
        let effect = site.op().effect();
        if !matches!(effect, Effect::Release | Effect::Lend) {
            return Err(Damage::Value("a release that is none"));
        }
        let mut address = Address::NULL;
        if recent.is_some() {
            address = self.addresses.get(index as usize).copied().unwrap_or(Address::NULL);
        }
        match recent {
            Some(recent) if effect == Effect::Release => self.guesses.note_released(recent, address, number),
            _ => {
                self.guesses.note_released_other(number);
                if block == Block::Unknown {
                    address = self.address()?;
                }
            }
        }
        Ok(self.make(&site, duration, Bytes::ZERO, address, block))
    }

    #[inline(always)]
    fn acquire(&mut self, flags: u8, duration: Units) -> Result<Event, Damage> {
        let (number, site) = self.site(flags, self.guesses.acquiring_site())?;
        self.guesses.note_acquiring_site(number);
        let effect = site.op().effect();
        if matches!(effect, Effect::Release | Effect::Lend) {
            return Err(Damage::Value("a release that is none"));
        }
        let mut size = site.size;
        if flags & flag::SIZE_GUESSED == 0 {
            size = Bytes(self.sizes.varint()?);
            self.guesses.sites[number as usize].size = size;
        }
        if flags & flag::NO_ADDRESS != 0 {
            let block = if effect == Effect::Acquire { Block::Null } else { Block::None };
            return Ok(self.make(&site, duration, size, Address::NULL, block));
        }
        let guessed = flags & flag::ADDRESS_GUESSED != 0;
        let address = if guessed {
            self.guesses.address(size).ok_or(Damage::Value("an address that cannot be guessed"))?
        } else {
            self.address()?
        };
        let mut block = Block::None;
        if effect == Effect::Acquire {
            self.guesses.note_acquired(number, size, guessed);
            self.last_address = address;
            block = Block::Number(BlockNo(self.first_block + self.addresses.len() as u64));
            self.addresses.push(address);
        }
        Ok(self.make(&site, duration, size, address, block))
    }

    #[inline(always)]
    fn make(&self, site: &Site, duration: Units, size: Bytes, address: Address, block: Block) -> Event {
        Event {
            time: Units(self.time),
            duration,
            size,
            address,
            block,
            node: site.node(),
            thread: self.guesses.thread,
            detail: site.detail(),
            op: site.op(),
        }
    }

    /// The number and a copy of the event's site.
    #[inline(always)]
    fn site(&mut self, flags: u8, guess: u32) -> Result<(u32, Site), Damage> {
        let mut number = guess;
        if flags & flag::SITE_GUESSED == 0 {
            number = u32::from(self.sites.byte()?) | u32::from(self.sites_high.byte()?) << 8;
            if number as usize == self.guesses.sites.len() {
                self.new_site()?;
            }
        }
        let site = self.guesses.sites.get(number as usize).ok_or(Damage::Value("a call site that never was"))?;
        Ok((number, *site))
    }

    #[cold]
    fn new_site(&mut self) -> Result<(), Damage> {
        let column = &mut self.new_sites;
        let op = Op::from_number(column.byte()?).ok_or(Damage::Value("an unknown function"))?;
        let detail = u16::try_from(column.varint()?).map_err(|_| Damage::Value("an impossible detail"))?;
        let node = i64::from(NodeId::or_zero(self.last_node)).wrapping_add(unzigzag(column.varint()?));
        self.last_node = NodeId::new(u32::try_from(node).map_err(|_| Damage::Value("an impossible stack"))?);
        self.guesses.sites.push(Site::new(site_key(self.last_node, detail, op)));
        Ok(())
    }

    fn address(&mut self) -> Result<Address, Damage> {
        let code = self.distances.varint()?;
        let mut distance = unzigzag(code >> 1) << 4;
        if code & 1 != 0 {
            distance |= i64::from(self.distances.byte()? & 15);
        }
        self.last_address = Address(self.last_address.0.wrapping_add(distance as u64));
        Ok(self.last_address)
    }
}

#[inline(always)]
fn short(column: &mut Unread, excess: &mut Unread) -> Result<u64, Damage> {
    match column.byte()? {
        EXCESS => excess.varint()?.checked_add(u64::from(EXCESS)).ok_or(Damage::Value("a time beyond all times")),
        short => Ok(u64::from(short)),
    }
}
