//! How a pack's parts are declared.

/// Declares an object that is sent, for both sides: the Rust type, and the interface in `packs.ts`. `as` names the TypeScript
/// type of a part that another crate writes.
macro_rules! sent {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty $(as $written:literal)?,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, serde::Serialize)]
            pub struct $name { $($(#[$about])* pub $field: $type,)* }

            #[cfg(test)]
            impl $crate::packs::typed::Typed for $name {
                fn name() -> String { stringify!($name).to_owned() }

                fn declare(to: &mut std::collections::BTreeMap<String, String>) {
                    let fields: &[String] = &[$($crate::packs::declare::field!(to, $field: $type $(as $written)?),)*];
                    to.insert(stringify!($name).to_owned(), fields.concat());
                }
            }
        )*
    };
}

#[cfg(test)]
macro_rules! field {
    ($to:ident, $field:ident: $type:ty) => {{
        <$type as $crate::packs::typed::Typed>::declare($to);
        format!("    {}: {};\n", stringify!($field), <$type as $crate::packs::typed::Typed>::name())
    }};
    ($to:ident, $field:ident: $type:ty as $written:literal) => {
        format!("    {}: {};\n", stringify!($field), $written)
    };
}

/// Declares columns that belong together, each with what its numbers are.
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Default)]
            pub struct $name { $($(#[$about])* pub $field: Vec<f64>,)* }

            impl $crate::packs::Columns for $name {
                const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

                fn each(&self) -> Vec<(&'static str, &[f64])> {
                    vec![$((stringify!($field), &self.$field)),*]
                }
            }
        )*
    };
}

#[cfg(test)]
pub(crate) use field;
pub(crate) use {columns, sent};
