//! How what is sent is called in TypeScript.

use std::collections::BTreeMap;

/// Something that is sent as JSON.
pub trait Typed {
    /// What TypeScript calls it.
    fn name() -> String;
    /// Adds what it is made of, if that has names of its own.
    fn declare(_: &mut BTreeMap<String, String>) {}
}

macro_rules! plain {
    ($($type:ty => $name:literal),* $(,)?) => {
        $(impl Typed for $type { fn name() -> String { $name.to_owned() } })*
    };
}

plain!(f64 => "number", u64 => "number", u32 => "number", usize => "number", bool => "boolean", String => "string", &str => "string");

impl<T: Typed> Typed for Option<T> {
    fn name() -> String {
        format!("{} | null", T::name())
    }

    fn declare(to: &mut BTreeMap<String, String>) {
        T::declare(to);
    }
}

impl<T: Typed> Typed for Vec<T> {
    fn name() -> String {
        match T::name() {
            name if name.contains(' ') => format!("({name})[]"),
            name => format!("{name}[]"),
        }
    }

    fn declare(to: &mut BTreeMap<String, String>) {
        T::declare(to);
    }
}

impl<T: Typed> Typed for [T; 2] {
    fn name() -> String {
        format!("[{0}, {0}]", T::name())
    }

    fn declare(to: &mut BTreeMap<String, String>) {
        T::declare(to);
    }
}

impl<T: Typed> Typed for BTreeMap<String, T> {
    fn name() -> String {
        format!("Record<string, {}>", T::name())
    }

    fn declare(to: &mut BTreeMap<String, String>) {
        T::declare(to);
    }
}
