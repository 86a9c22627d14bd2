// Each call of `probe` prints its name and the address of the call, relative to the file.
use std::arch::asm;

unsafe extern "C" {
    static __ehdr_start: u8;
}

#[inline(never)]
fn probe(name: &str, call: usize) {
    println!("{name} {:x}", call - 1 - &raw const __ehdr_start as usize);
}

/// The address after the instruction that asks.
#[inline(always)]
fn here() -> usize {
    let address: usize;
    unsafe { asm!("lea {}, [rip]", out(reg) address) }; // here:asm
    address
}

mod shop {
    pub struct Cart<T>(pub Vec<T>);

    impl<T: Copy> Cart<T> {
        #[inline(always)]
        pub fn add(&mut self, item: T) -> usize {
            self.0.push(item);
            crate::here() // add:here
        }
    }
}

#[inline(never)]
fn sell(count: u32) -> usize {
    let mut cart = shop::Cart(vec![count]);
    let call = cart.add(7); // sell:add
    assert_eq!(cart.0.len(), 2);
    call
}

fn main() {
    let call = sell(std::env::args().count() as u32);
    probe("sell", call);
}
