//! Compiles the player, `machine/player`, which is then embedded in the binary.

include!("../machine/cxx.rs");

fn main() {
    println!("cargo::rerun-if-changed=../machine/cxx.rs");
    for folder in folders("player") {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("player");
    let mut compiler = cc::Build::new().cpp(true).no_default_flags(true).warnings(false).get_compiler().to_command();
    compiler.args(FLAGS).arg("-o").arg(&output).args(sources("player", "windows")).args(LINK_LINUX);
    let status = compiler.status().unwrap_or_else(|error| panic!("cannot run a C++ compiler ({compiler:?}): {error}"));
    assert!(status.success(), "the player does not compile; a C++20 compiler is needed: {compiler:?}");
}
