//! Compiles the measuring programs of `machine/`, which are then embedded in the binary.

include!("cxx.rs");

/// Compiles the program `machine/NAME` to `OUT_DIR/NAME`.
fn build(name: &str) {
    for folder in folders(name) {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
    let mut compiler = cc::Build::new().cpp(true).no_default_flags(true).warnings(false).get_compiler().to_command();
    compiler.args(FLAGS).arg("-o").arg(&output).args(sources(name, "windows")).args(LINK_LINUX);
    let status = compiler.status().unwrap_or_else(|error| panic!("cannot run a C++ compiler ({compiler:?}): {error}"));
    assert!(status.success(), "{name} does not compile; a C++20 compiler is needed: {compiler:?}");
}

fn main() {
    println!("cargo::rerun-if-changed=cxx.rs");
    build("prices");
    build("ways");
}
