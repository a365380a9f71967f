//! Compiles the guard (`guard/main.rs`), which `src/process/image.rs` embeds: the library is complete in one file.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=guard");
    let image = PathBuf::from(variable("OUT_DIR")?).join("zuno-guard");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        // No guard elsewhere yet: an empty image is refused at run time with a sentence that says so.
        return Ok(std::fs::write(image, b"")?);
    }
    // A static program starts a third faster; where the C library has no static form, the dynamic one does.
    let first = compile(&image, "+crt-static")?;
    if first.status.success() {
        return Ok(());
    }
    let second = compile(&image, "-crt-static")?;
    if second.status.success() {
        return Ok(());
    }
    Err(format!("the guard did not compile:\n{}", String::from_utf8_lossy(&second.stderr)).into())
}

fn compile(image: &Path, static_runtime: &str) -> Result<Output, Box<dyn Error>> {
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc.args(["--edition", "2024", "--crate-name", "zuno_guard", "--crate-type", "bin"]);
    rustc.arg("--target").arg(variable("TARGET")?);
    rustc.args(["-Copt-level=s", "-Cpanic=abort", "-Cstrip=symbols", "-Clto=fat", "-Ccodegen-units=1"]);
    rustc.arg(format!("-Ctarget-feature={static_runtime}"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    Ok(rustc.arg("-o").arg(image).arg("guard/main.rs").output()?)
}

fn variable(name: &str) -> Result<OsString, Box<dyn Error>> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name}").into())
}
