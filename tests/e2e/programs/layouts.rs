// Types of all kinds, and what the compiler says of them: see layouts.cpp.
use std::mem::{align_of, offset_of, size_of};

#[repr(C)]
pub struct Fixed {
    pub is_set: bool,
    pub value: f64,
    pub kind: u8,
    pub text: String,
    pub column: u16,
}

pub struct Free {
    pub is_set: bool,
    pub value: f64,
    pub kind: u8,
    pub list: Vec<u32>,
    pub array: [u16; 5],
}

macro_rules! say {
    ($type:ident: $($member:ident $of:ty),*) => {
        println!("layouts::{} - {} {}", stringify!($type), size_of::<$type>(), align_of::<$type>());
        $(println!("layouts::{} {} {} {}", stringify!($type), stringify!($member), offset_of!($type, $member), size_of::<$of>());)*
    };
}

fn main() {
    say!(Fixed: is_set bool, value f64, kind u8, text String, column u16);
    say!(Free: is_set bool, value f64, kind u8, list Vec<u32>, array [u16; 5]);
    let fixed = Fixed { is_set: true, value: 1.0, kind: 2, text: String::new(), column: 3 };
    let free = Free { is_set: true, value: 1.0, kind: 2, list: Vec::new(), array: [0; 5] };
    std::hint::black_box((&fixed, &free));
}
