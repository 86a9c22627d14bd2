//! Reads functions that return a constant: `lea rax, [rip + …]` or `mov eax, …`, and `ret`, with what compilers put around it.

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};

/// The constant, of code at `address`.
pub fn constant_returned(code: &[u8], address: u64) -> Option<u64> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut constant = None;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let is_rax = matches!(instruction.op0_register(), Register::RAX | Register::EAX);
        match instruction.mnemonic() {
            Mnemonic::Endbr64 | Mnemonic::Nop | Mnemonic::Leave => {}
            Mnemonic::Push | Mnemonic::Pop if instruction.op0_register() == Register::RBP => {}
            Mnemonic::Mov if instruction.op0_register() == Register::RBP => {}
            Mnemonic::Lea if is_rax && instruction.is_ip_rel_memory_operand() => {
                constant = Some(instruction.ip_rel_memory_address());
            }
            Mnemonic::Mov if is_rax && instruction.op1_kind() != OpKind::Register => {
                constant = Some(instruction.try_immediate(1).ok()?);
            }
            Mnemonic::Ret => return constant,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_read_and_nothing_else() {
        let read = |code: &[u8]| constant_returned(code, 0x1000);
        // lea rax, [rip + 0x10]; ret
        assert_eq!(read(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0xc3]), Some(0x1017));
        // endbr64; push rbp; mov rbp, rsp; lea rax, [rip + 0x10]; pop rbp; ret
        let unoptimized = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0x5d, 0xc3];
        assert_eq!(read(&unoptimized), Some(0x101f));
        // mov eax, 0x404010; ret
        assert_eq!(read(&[0xb8, 0x10, 0x40, 0x40, 0, 0xc3]), Some(0x404010));
        // mov rax, [rip + 0x10]; ret: a variable
        assert_eq!(read(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3]), None);
        // call; ret, and lea without a ret
        assert_eq!(read(&[0xe8, 0x10, 0, 0, 0, 0xc3]), None);
        assert_eq!(read(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]), None);
    }
}
