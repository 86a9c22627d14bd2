//! x86-64, System V psABI.

mod constant_returned;
pub mod injection;
mod redirect;

use crate::{Called, Code, Description, Entry, Processor, Samples};
use object::Architecture;
use object::elf::EM_X86_64;

/// Facts about it.
pub const PROCESSOR: Processor = Processor {
    name: "x86-64",
    elf_machine: EM_X86_64,
    architecture: Architecture::X86_64,
    loader: "/lib64/ld-linux-x86-64.so.2",
    musl_loader: "/lib/ld-musl-x86_64.so.1",
    library_folder: "x86_64-linux-gnu",
    valgrind: "-amd64-linux",
    description: Description {
        model: "model name",
        features: "flags",
        steady_counter: Some(&["constant_tsc", "nonstop_tsc"]),
    },
    samples: Samples { returns_to_top: true, entry: Some(Entry { address: IP, in_call: (AX, NO_RESULT_YET) }) },
    call_before,
    stub_at,
    calls_of,
    constant_returned: constant_returned::constant_returned,
    redirect: redirect::redirect,
};

/// The kernel's numbers of registers.
const AX: u64 = 0;
const IP: u64 = 8;
/// -ENOSYS.
const NO_RESULT_YET: u64 = -38_i64 as u64;

/// The time stamp counter, which both sides read; ticks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Fetches the line of memory around an address into the cache.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: fetching has no effect that a program could see, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

/// `call`, `jmp` and `jcc` with a distance of 32 bits.
fn calls_of(code: &[u8], start: u64, target: u64) -> Vec<u64> {
    let leads_there = |at: &usize| {
        let (opcode, to) = match &code[*at..] {
            [0xe8 | 0xe9, to @ ..] => (1, to),
            [0x0f, 0x80..=0x8f, to @ ..] => (2, to),
            _ => return false,
        };
        let Some(to) = to.get(..4) else { return false };
        let next = start.wrapping_add((*at + opcode + 4) as u64);
        next.checked_add_signed(distance(to).unwrap_or_default()) == Some(target)
    };
    (0..code.len()).filter(leads_there).map(|at| start.wrapping_add(at as u64)).collect()
}

/// `call *slot(%rip)` or `call function`.
fn call_before(code: &Code<'_>, next: u64) -> Option<Called> {
    if let [0xff, 0x15, to @ ..] = code(next.checked_sub(6)?, 6)? {
        return Some(Called::Slot(next.checked_add_signed(distance(to)?)?));
    }
    let [0xe8, to @ ..] = code(next.checked_sub(5)?, 5)? else { return None };
    Some(Called::Address(next.checked_add_signed(distance(to)?)?))
}

/// `endbr64` or not, `bnd` or not, `jmp *slot(%rip)`.
fn stub_at(code: &Code<'_>, at: u64) -> Option<u64> {
    let mut at = at;
    for front in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2]] {
        if code(at, front.len() as u64)? == front {
            at += front.len() as u64;
        }
    }
    let [0xff, 0x25, to @ ..] = code(at, 6)? else { return None };
    (at + 6).checked_add_signed(distance(to)?)
}

fn distance(bytes: &[u8]) -> Option<i64> {
    Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?)))
}
