//! A build tool, of which nothing ships: writes the JavaScript bindings of a compiled module.
//!
//! It does as `wasm-bindgen --target bundler --no-typescript` does, through wasm-bindgen's library. The library builds
//! in a quarter of the time of the command-line tool, and Cargo.lock pins its version.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: ldp-pca-bindgen MODULE FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let written = bindgen
        .bundler(true)
        .and_then(|bindgen| bindgen.input_path(module).typescript(false).out_name("ldp_pca").generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
