//! What is said of blocks that are live where a recording ends.

use crate::{Image, Recording};
use memtoll_trace::meta::Exit;

/// What is known of the end of such blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// A process went on, or the recording was cut off: they may have been freed later.
    StillLive,
    /// A signal ended a process, which might have freed them.
    LiveAtEnd,
    /// All processes ended by themselves, and did not free them.
    NeverFreed,
}

impl Kept {
    /// Behind "blocks that are".
    pub fn words(self) -> &'static str {
        match self {
            Kept::StillLive => "still live",
            Kept::LiveAtEnd => "live at the end",
            Kept::NeverFreed => "never freed",
        }
    }
}

impl Recording {
    /// What is said of blocks that are live where the recording ends.
    pub fn kept(&self) -> Kept {
        let ends = |is: fn(&Exit) -> bool| {
            self.images.iter().any(|image: &Image| image.end.as_ref().is_some_and(|end| is(&end.exit)))
        };
        let is_cut_off = self.end.is_none() || self.images.iter().any(|image| image.end.is_none());
        match () {
            () if is_cut_off || ends(|exit| *exit == Exit::Running) => Kept::StillLive,
            () if ends(|exit| matches!(exit, Exit::Signal(_))) => Kept::LiveAtEnd,
            () => Kept::NeverFreed,
        }
    }
}
