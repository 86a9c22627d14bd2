//! A jump is `e9` and a distance, so the new code lies within 2 GiB. `endbr64` stays in front of it.

use crate::redirect::{Function, Redirection, Refusal};
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, Instruction, InstructionBlock, MemoryOperand,
    Mnemonic, Register,
};

const JUMP: usize = 5;
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
const MOV_R9: [u8; 2] = [0x49, 0xb9];
const JMP_TO_NEXT_WORD: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

/// The code for one function.
pub fn redirect(function: &Function<'_>) -> Result<Redirection, Refusal> {
    let front = if function.code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
    let at = function.entry + front as u64;
    let moved = first_instructions(function, front)?;
    let end = moved.last().map_or(at, Instruction::next_ip);
    let changes = at..at + JUMP as u64;
    let into_jump = |target: u64| target > changes.start && target < changes.end;
    if branches(function).any(into_jump) {
        return Err(Refusal::JumpsBack);
    }
    let pushes_return = moved.iter().any(is_call);
    let mut code = Vec::with_capacity(96);
    if let Some(argument) = function.argument {
        code.extend(MOV_R9);
        code.extend(argument.to_le_bytes());
    }
    code.extend(JMP_TO_NEXT_WORD);
    code.extend(function.hook.to_le_bytes());
    let original = code.len();
    code.extend(elsewhere(&moved, end, function.room + original as u64)?);

    let distance = i64::try_from(i128::from(function.room) - i128::from(changes.end)).ok();
    let distance = distance.and_then(|distance| i32::try_from(distance).ok()).ok_or(Refusal::Immovable)?;
    let mut after = vec![0xe9];
    after.extend(distance.to_le_bytes());
    let all = function.code.iter().chain(function.behind).copied();
    let before: Vec<u8> = all.skip(front).take(JUMP).collect();
    Ok(Redirection { code, original, at, before, after, pushes_return })
}

/// Those that the jump overwrites.
fn first_instructions(function: &Function<'_>, front: usize) -> Result<Vec<Instruction>, Refusal> {
    let mut decoder =
        Decoder::with_ip(64, &function.code[front..], function.entry + front as u64, DecoderOptions::NONE);
    let mut moved = Vec::new();
    let mut length = 0;
    while length < JUMP && decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return Err(if length + front + 15 > function.code.len() { Refusal::TooShort } else { Refusal::Unknown });
        }
        length += instruction.len();
        let ends = ends_here(&instruction);
        moved.push(instruction);
        if ends && length < JUMP {
            break;
        }
    }
    if length < JUMP {
        // What the function does not need up to there must be padding.
        let rest: Vec<u8> = function.code[front + length..].iter().chain(function.behind).copied().collect();
        let is_padding = |one: &Instruction| matches!(one.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        let padding = Decoder::new(64, &rest, DecoderOptions::NONE).into_iter().take_while(is_padding);
        let bytes: usize = padding.map(|one| one.len()).sum();
        if !moved.last().is_some_and(ends_here) || length + bytes < JUMP {
            return Err(Refusal::TooShort);
        }
    }
    Ok(moved)
}

/// Whether nothing behind the instruction is reached from it.
fn ends_here(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Jmp | Mnemonic::Ret | Mnemonic::Ud2 | Mnemonic::Hlt)
}

/// Where branches inside the function go.
fn branches<'a>(function: &'a Function<'_>) -> impl Iterator<Item = u64> + use<'a> {
    let decoder = Decoder::with_ip(64, function.code, function.entry, DecoderOptions::NONE);
    decoder.into_iter().map(|instruction| instruction.near_branch_target()).filter(|target| *target != 0)
}

fn is_call(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Call
}

/// The instructions for another place, and a jump to what follows them.
fn elsewhere(moved: &[Instruction], end: u64, place: u64) -> Result<Vec<u8>, Refusal> {
    let mut all = moved.to_vec();
    if let Some(call) = all.pop_if(|last| is_call(last)) {
        all.extend(call_from(&call)?);
    } else if !moved.last().is_some_and(ends_here) {
        let on = Instruction::with_branch(Code::Jmp_rel32_64, end).map_err(|_| Refusal::Immovable)?;
        all.push(on);
    }
    // A call that returns into the jump.
    if all.iter().any(is_call) {
        return Err(Refusal::Immovable);
    }
    let block = InstructionBlock::new(&all, place);
    let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).map_err(|_| Refusal::Immovable)?;
    Ok(encoded.code_buffer)
}

/// A call that returns to where it did before: unwinders, and exceptions that pass, know no other place.
fn call_from(call: &Instruction) -> Result<[Instruction; 3], Refusal> {
    let immovable = |_| Refusal::Immovable;
    let (low, high) = (call.next_ip() as i32, (call.next_ip() >> 32) as i32);
    let upper_half = MemoryOperand::with_base_displ(Register::RSP, 4);
    let jump = match call.code() {
        Code::Call_rel32_64 => {
            Instruction::with_branch(Code::Jmp_rel32_64, call.near_branch_target()).map_err(immovable)?
        }
        Code::Call_rm64 if call.memory_base() != Register::RSP && call.op0_register() != Register::RSP => {
            let mut jump = *call;
            jump.set_code(Code::Jmp_rm64);
            jump
        }
        _ => return Err(Refusal::Immovable),
    };
    Ok([
        Instruction::with1(Code::Pushq_imm32, low).map_err(immovable)?,
        Instruction::with2(Code::Mov_rm32_imm32, upper_half, high).map_err(immovable)?,
        jump,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function<'a>(code: &'a [u8], behind: &'a [u8]) -> Function<'a> {
        Function {
            entry: 0x40_1000,
            code,
            behind,
            room: 0x50_0000,
            argument: Some(0x1122_3344_5566),
            hook: 0x7fff_0000_1000,
        }
    }

    #[test]
    fn first_instructions_move_and_go_on_behind_the_jump() {
        // endbr64; push %rbp; mov %rsp,%rbp; lea 0x100(%rip),%rax; ret
        let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0, 1, 0, 0, 0xc3];
        let made = redirect(&function(&code, &[])).unwrap();
        assert_eq!((made.at, made.before.as_slice()), (0x40_1004, &code[4..9]));
        let distance = i64::from(i32::from_le_bytes(made.after[1..5].try_into().unwrap()));
        assert_eq!((made.after[0], 0x40_1009 + distance), (0xe9, 0x50_0000));
        let moved: Vec<Instruction> =
            Decoder::with_ip(64, &made.code[made.original..], 0x50_0000 + made.original as u64, 0)
                .into_iter()
                .collect();
        assert_eq!(moved[0].mnemonic(), Mnemonic::Push);
        assert_eq!(moved[2].memory_displacement64(), 0x40_100f + 0x100, "it still means the same place");
        assert_eq!((moved[3].mnemonic(), moved[3].near_branch_target()), (Mnemonic::Jmp, 0x40_100f));
        assert_eq!(made.code[2..10], 0x1122_3344_5566u64.to_le_bytes());
        assert_eq!(made.code[16..24], 0x7fff_0000_1000u64.to_le_bytes());
    }

    #[test]
    fn conditional_jumps_keep_their_targets() {
        // test %rdi,%rdi; je +0x10; ret …
        let mut code = vec![0x48, 0x85, 0xff, 0x74, 0x10];
        code.resize(40, 0x90);
        let made = redirect(&function(&code, &[])).unwrap();
        let moved: Vec<Instruction> =
            Decoder::with_ip(64, &made.code[made.original..], 0x50_0000 + made.original as u64, 0)
                .into_iter()
                .collect();
        assert_eq!(moved[1].near_branch_target(), 0x40_1015);
    }

    #[test]
    fn calls_return_to_where_they_did() {
        // push %rbx; mov %rdi,%rbx; call +0x100; ret
        let code = [0x53, 0x48, 0x89, 0xfb, 0xe8, 0, 1, 0, 0, 0xc3];
        let made = redirect(&function(&code, &[])).unwrap();
        assert!(made.pushes_return);
        let moved: Vec<Instruction> =
            Decoder::with_ip(64, &made.code[made.original..], 0x50_0000 + made.original as u64, 0)
                .into_iter()
                .collect();
        assert_eq!((moved[2].mnemonic(), moved[2].immediate64()), (Mnemonic::Push, 0x40_1009));
        assert_eq!((moved[3].mnemonic(), moved[3].immediate32()), (Mnemonic::Mov, 0));
        assert_eq!((moved[4].mnemonic(), moved[4].near_branch_target()), (Mnemonic::Jmp, 0x40_1109));
        assert_eq!(moved.len(), 5, "nothing is reached behind it");
    }

    #[test]
    fn short_functions_may_have_padding_behind_them() {
        let short = [0xeb, 0x10]; // jmp
        let padding = [0x66, 0x0f, 0x1f, 0x44, 0, 0];
        assert!(redirect(&function(&short, &padding)).is_ok());
        assert_eq!(redirect(&function(&short, &[])), Err(Refusal::TooShort));
        assert_eq!(redirect(&function(&short, &[0x55; 6])), Err(Refusal::TooShort), "another function's");
        assert_eq!(redirect(&function(&[0x55, 0x53], &[0x90; 8])), Err(Refusal::TooShort), "it goes on there");
    }

    #[test]
    fn what_cannot_be_moved_is_left_alone() {
        // push %rbx; push %rbp; push %rax; push %rcx; jmp to the second of them
        assert_eq!(redirect(&function(&[0x53, 0x55, 0x50, 0x51, 0x52, 0xeb, 0xfa], &[])), Err(Refusal::JumpsBack));
        let calls = [0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3]; // call *%rax
        assert_eq!(redirect(&function(&calls, &[])), Err(Refusal::Immovable), "it would return into the jump");
        assert_eq!(redirect(&function(&[0x06; 16], &[])), Err(Refusal::Unknown));
        let far = Function { room: 0x7000_0000_0000, ..function(&[0x90; 16], &[]) };
        assert_eq!(redirect(&far), Err(Refusal::Immovable));
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks_exact(2);
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// What is planned for the functions of twelve binaries. `UPDATE_CORPUS=1` writes it anew.
    #[test]
    fn plans_for_real_functions() {
        const LOADED: u64 = 0x5555_5555_4000;
        let mut found = String::new();
        let mut redirected = 0;
        for line in include_str!("corpus.txt").lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [name, address, code, behind] = fields[..] else {
                found += &format!("{line}\n");
                continue;
            };
            if name == "#" {
                found += &format!("{line}\n");
                continue;
            }
            let entry = LOADED + u64::from_str_radix(&address[2..], 16).unwrap();
            let (code, behind) = (bytes(code), if behind == "-" { Vec::new() } else { bytes(behind) });
            let function = Function {
                entry,
                code: &code,
                behind: &behind,
                room: LOADED - 0x1_0000,
                argument: Some(LOADED - 0x1_0010),
                hook: 0x7fff_f000_0000,
            };
            match redirect(&function) {
                Ok(made) => {
                    redirected += 1;
                    assert_eq!(made.before.len(), made.after.len());
                    assert_eq!(made.before[..], [&code[..], &behind].concat()[(made.at - entry) as usize..][..JUMP]);
                    let calls = if made.pushes_return { ", pushes a return address" } else { "" };
                    let (before, moved) = (hex(&made.before), hex(&made.code[made.original..]));
                    found += &format!("{name} {address}+{}: {before} -> {moved}{calls}\n", made.at - entry);
                }
                Err(why) => found += &format!("{name} {address}: {why}\n"),
            }
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/x86_64/corpus_planned.txt");
        if std::env::var_os("UPDATE_CORPUS").is_some() {
            std::fs::write(file, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(file).unwrap(), "UPDATE_CORPUS=1 writes it anew");
        assert!(redirected > 100, "{redirected}");
    }
}
