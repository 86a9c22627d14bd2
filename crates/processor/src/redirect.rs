//! How calls of a function are led to a hook, wherever they come from: a jump over the function's first instructions, and a
//! copy of these elsewhere, which goes on behind the jump.

/// A function that is to be redirected. Addresses are those in memory.
pub struct Function<'a> {
    /// Where it begins.
    pub entry: u64,
    /// Its code, from there to its end at the most. What is not known is left out.
    pub code: &'a [u8],
    /// Code that may follow it: padding, over which the jump may reach.
    pub behind: &'a [u8],
    /// Where the new code will be.
    pub room: u64,
    /// An address that the hook finds in the register of its sixth argument. None: the hook has the function's own arguments.
    pub argument: Option<u64>,
    /// The hook.
    pub hook: u64,
}

/// How a function is redirected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// What belongs where there is room.
    pub code: Vec<u8>,
    /// Where what does as the function did before begins in that, bytes.
    pub original: usize,
    /// Where the function changes.
    pub at: u64,
    /// What is there now.
    pub before: Vec<u8>,
    /// What is to be there, of the same length.
    pub after: Vec<u8>,
    /// The original makes a call by leaving a return address on the stack and jumping: where the processor keeps return
    /// addresses itself, too, that fails.
    pub pushes_return: bool,
}

/// Why a function cannot be redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It ends before a jump would.
    #[error("is shorter than a jump")]
    TooShort,
    /// An instruction cannot be read.
    #[error("has instructions that memtoll does not know")]
    Unknown,
    /// The function jumps back to where the jump would be.
    #[error("jumps into its own beginning")]
    JumpsBack,
    /// Its first instructions do not work elsewhere.
    #[error("does not work elsewhere")]
    Immovable,
}
