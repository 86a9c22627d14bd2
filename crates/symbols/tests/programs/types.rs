// Types of many kinds, and a program that prints their sizes.

pub struct Run {
    pub begin: u64,
    pub colour: u32,
}

mod shop {
    pub struct Item<T> {
        pub value: T,
        pub count: u8,
    }
    pub enum Kind {
        Small(u32),
        Large(u64),
    }
    pub enum Flag {
        Up,
        Down,
    }
}

#[inline(never)]
fn keep<T>(name: &str, first: T, second: T) {
    let mut many = Vec::new();
    many.push(first);
    many.push(second);
    println!("{name}|{} {:p}", std::mem::size_of::<T>(), many.as_ptr());
    std::mem::forget(many);
}

fn main() {
    let id = std::process::id();
    let run = || Run { begin: 1, colour: id };
    println!("used {}", run().begin + u64::from(run().colour));
    keep("types::Run", run(), run());
    keep("[types::Run; 3]", [run(), run(), run()], [run(), run(), run()]);
    let item = || shop::Item { value: id as u16, count: 1 };
    println!("used {}", u32::from(item().value) + u32::from(item().count));
    keep("types::shop::Item<u16>", item(), item());
    keep("types::shop::Kind", shop::Kind::Small(id), shop::Kind::Large(3));
    if let shop::Kind::Small(n) = shop::Kind::Small(id) {
        println!("used {n}");
    }
    if let shop::Kind::Large(n) = shop::Kind::Large(3) {
        println!("used {n}");
    }
    keep("types::shop::Flag", shop::Flag::Up, shop::Flag::Down);
    keep("&str", "a", "b");
    keep("(u8, u32)", (1u8, id), (2u8, id));
    keep("alloc::string::String", String::from("a"), String::from("b"));
    keep("alloc::vec::Vec<u8>", vec![1u8], vec![2u8]);
    keep("core::option::Option<alloc::string::String>", None, Some(String::from("b")));
    keep("f64", 1.0f64, 2.0);
}
