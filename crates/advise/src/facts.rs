//! What rules look at, and what they say.

use crate::byte_costs::Work;
use crate::delayed_coalescing::DelayedWork;
use crate::finding::{Called, Confidence, Evidence, Place, Remedy};
use crate::program_work::OwnWork;
use crate::range::Range;
use crate::savings::Saves;
use crate::site::{Making, Site, lines, sites};
use crate::source::Places;
use crate::wall_time::Wall;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::library::Owner;
use memtoll_analysis::packages::Packages;
use memtoll_analysis::page_balance;
use memtoll_analysis::sites::{GroupBy, rows};
use memtoll_analysis::stacks::{Stacks, Texts};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::{Addresses, FrameId, Recording};
use std::cell::OnceCell;

/// What is known of a recording.
pub struct Facts<'a> {
    pub recording: &'a Recording,
    pub sums: &'a Sums,
    /// Prices.
    pub tariff: Tariff,
    /// Where the CPU time went.
    pub balance: Balance,
    /// Lines that cost something.
    pub sites: Vec<Site>,
    /// Lines as wholes, those that cost most first: all that is allocated below them.
    pub lines: Vec<Site>,
    /// Where the plain program works.
    pub own: OwnWork,
    /// What frees of small blocks leave to other calls.
    pub delayed: DelayedWork,
    /// Wall time.
    pub wall: Wall,
    /// Statements about what could not be looked at.
    pub notes: Vec<String>,
    /// Packages that the program depends on.
    pub packages: Packages<'a>,
    /// Who holds the pages at the end, of a single process.
    pub pages: Option<page_balance::Balance>,
    addresses: OnceCell<Addresses<'a>>,
}

/// In what the line is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    /// C++.
    Cxx,
    Rust,
}

impl<'a> Facts<'a> {
    /// Reads the events in a pass.
    pub fn of(recording: &'a Recording, sums: &'a Sums, stacks: &mut Stacks, pass: &mut EventPass) -> Facts<'a> {
        let tariff = Tariff::of(recording).of_sums(sums);
        let (making, found) = (Making::of(recording, sums, &tariff), rows(stacks, sums, GroupBy::Site));
        let mut lines = lines(&making, &found);
        let (sites, notes) = sites(&making, &found, stacks, &mut lines, pass);
        let priced = sums.sites.iter().map(|site| site.metrics());
        let copy_byte = Work::copy_byte(&tariff).likely;
        let delayed = DelayedWork::of(&sites, priced, &tariff, copy_byte);
        let balance = Balance::of_all(recording, sums);
        Facts {
            recording,
            sums,
            wall: Wall::of(recording, sums, &tariff, balance.program()),
            balance,
            lines,
            tariff,
            sites,
            own: OwnWork::of(recording),
            delayed,
            notes,
            packages: Packages::of(&recording.frames),
            pages: pass.pages(stacks, sums),
            addresses: OnceCell::new(),
        }
    }

    /// CPU time of the program without the recorder, ns, but at least what memory costs.
    pub fn processor(&self) -> Option<f64> {
        self.balance.program().map(|program| program.value.max(self.balance.explained().value))
    }

    /// Sites that allocate or map and have a line or function that a reader can change.
    pub fn changeable(&self) -> impl Iterator<Item = (usize, &Site)> {
        self.sites.iter().enumerate().filter(|(_, site)| self.is_changeable(site))
    }

    /// Whether the leading frame is the program's, and has a name.
    pub fn is_changeable(&self, site: &Site) -> bool {
        let Some(frame) = site.row.frame.filter(|frame| self.is_named(*frame)) else { return false };
        let texts = Texts::of(&self.recording.frames, frame);
        // With library frames folded, one leads only where there is none of the program's.
        self.packages.owner(&texts) == Owner::Program
            || memtoll_analysis::library::lost_inlined_frames(texts.function, texts.file)
    }

    /// The line of a site, if it is known.
    pub fn line(&self, site: &Site) -> Option<u32> {
        Texts::of(&self.recording.frames, site.row.frame?).line
    }

    /// The function of a site's line.
    pub fn function(&self, site: &Site) -> &str {
        site.row.frame.map_or("", |frame| Texts::of(&self.recording.frames, frame).function)
    }

    pub fn place(&self, site: &Site) -> Place {
        site.row.frame.map(|frame| Places::new(self.recording).of(frame)).unwrap_or_default()
    }

    pub fn place_of(&self, frame: FrameId) -> Place {
        Places::new(self.recording).of(frame)
    }

    /// Where the calls of stacks are in their files.
    pub fn addresses(&self) -> &Addresses<'a> {
        self.addresses.get_or_init(|| self.recording.frames.addresses())
    }

    /// The loaded file with the code of a frame.
    pub fn module(&self, frame: FrameId) -> &str {
        Texts::of(&self.recording.frames, frame).module
    }

    fn is_named(&self, frame: FrameId) -> bool {
        self.recording.frames.frame(frame).address.is_none()
    }

    /// What sites cost whose functions have no names, ns: a reader could not find them in the source.
    pub fn unnamed(&self) -> f64 {
        let unnamed = self.sites.iter().filter(|site| site.row.frame.is_some_and(|frame| !self.is_named(frame)));
        unnamed.map(|site| site.processor().likely).sum()
    }

    /// The language of a site's line.
    pub fn language(&self, site: &Site) -> Language {
        let file = site.row.frame.and_then(|frame| Texts::of(&self.recording.frames, frame).file);
        let function = site.row.frame.map_or("", |frame| Texts::of(&self.recording.frames, frame).function);
        let ends = |with: &str| file.is_some_and(|file| file.ends_with(with));
        let class = site.class();
        match () {
            () if ends(".rs") || class.starts_with("Vec") || class == "String" || class == "Box" => Language::Rust,
            () if class.contains("std::") || class.contains("boost::") => Language::Cxx,
            () if ends(".c") => Language::C,
            () if function.contains("::") || !class.is_empty() => Language::Cxx,
            () if ends(".cpp") || ends(".cc") || ends(".cxx") || ends(".hpp") => Language::Cxx,
            () => Language::C,
        }
    }

    /// Bytes of a page.
    pub fn page(&self) -> f64 {
        self.tariff.page() as f64
    }

    /// How long the recording lasted, ns.
    pub fn duration(&self) -> f64 {
        self.tariff.ns(self.recording.ended() as f64)
    }

    /// Page faults of the run.
    pub fn faults(&self) -> f64 {
        self.balance.faults.counted.unwrap_or(self.sums.total.small_faults) as f64
    }

    /// About the largest resident set, bytes: what was touched for the first time cannot be less than what is there at once.
    pub fn resident(&self) -> f64 {
        (self.sums.total.peak_bytes.0 as f64).min(self.faults() * self.page())
    }

    /// Threads that allocated in all images that count, at least one.
    pub fn threads(&self) -> usize {
        self.sums.counted().map(|(index, _)| self.recording.images[index].threads.len()).max().unwrap_or(1).max(1)
    }
}

/// Less is not looked at, bytes.
const LEAST_PROPOSED: u64 = 64 << 10;

/// What a rule says of a site.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The site, by its place among [`Facts::sites`].
    pub site: usize,
    /// The line as a whole, by its place among [`Facts::lines`], where the change is about all of that.
    pub line: Option<usize>,
    /// What was seen.
    pub evidence: Evidence,
    /// What to do.
    pub change: String,
    /// How that looks.
    pub snippet: String,
    /// Which word of the snippet stands for a name of the source.
    pub called: Option<Called>,
    /// The same for `--patch`, if it is mechanical.
    pub remedy: Option<Remedy>,
    pub saves: Saves,
    /// The part of that which is the program's own work and no cost of the line's memory, ns of CPU time.
    pub own_work: Range,
    /// Page faults of other lines' memory that may go with it, at the most.
    pub faults_elsewhere: f64,
    /// What that depends on.
    pub assumptions: Vec<String>,
    /// How sure it is at the most.
    pub at_most: Confidence,
    /// Other sites that the change is about, too.
    pub with: Vec<usize>,
    /// The function to change, where it is none of the stack.
    pub place: Option<Place>,
    /// See [`crate::Finding::filled_at`].
    pub filled_at: Vec<Place>,
    /// Bytes that the numbers in the snippet would take in this run at one instant.
    pub proposes: u64,
}

impl Draft {
    /// Of a site, still without texts.
    pub fn of(site: usize) -> Draft {
        Draft {
            site,
            line: None,
            evidence: Evidence::default(),
            change: String::new(),
            snippet: String::new(),
            called: None,
            remedy: None,
            saves: Saves::default(),
            own_work: Range::default(),
            faults_elsewhere: 0.0,
            assumptions: Vec::new(),
            at_most: Confidence::High,
            with: Vec::new(),
            place: None,
            filled_at: Vec::new(),
            proposes: 0,
        }
    }

    /// Of all that is allocated below a line, by its place among [`Facts::lines`]; nothing if none of it is a site.
    pub fn of_line(facts: &Facts, line: usize) -> Option<Draft> {
        let nodes = &facts.lines[line].nodes;
        let is_part = |site: &Site| site.nodes.iter().any(|node| nodes.contains(node));
        let mut parts = facts.sites.iter().enumerate().filter(|(_, site)| is_part(site)).map(|(index, _)| index);
        let mut draft = Draft { line: Some(line), ..Draft::of(parts.next()?) };
        draft.with = parts.collect();
        Some(draft)
    }

    /// The site that it is about.
    pub fn subject<'f>(&self, facts: &'f Facts) -> &'f Site {
        self.line.map_or(&facts.sites[self.site], |line| &facts.lines[line])
    }

    /// Whether the numbers in the snippet take about as much as what they replace. A reader who types them in gets no more.
    pub fn is_affordable(&self, facts: &Facts) -> bool {
        let live = facts.sites[self.site].pattern.most_live_bytes;
        self.proposes <= live.saturating_mul(2).max(LEAST_PROPOSED)
    }
}
