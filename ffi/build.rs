//! The name under which programs remember the library, and its name in memory.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    // Before 1.0 every minor version may change the interface.
    let interface = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libzuno.so.{interface}");
        // Threads of the library must never lose the code they run: `dlclose` leaves it in place.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
