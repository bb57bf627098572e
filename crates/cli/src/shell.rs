//! The `completions` and `man` commands: what a shell and `man` know of the command line, from its own description.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use super::error::{InFile as _, Result};
use super::interface;

/// Print the script by which a shell completes this command
#[derive(Args)]
pub(super) struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands into a folder
#[derive(Args)]
pub(super) struct ManPages {
    /// The folder for the pages; created if missing
    folder: Option<PathBuf>,
}

impl Completions {
    pub(super) fn run(self) -> Result<()> {
        let mut command = interface();
        let name = command.get_name().to_owned();
        let mut script = vec![];
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        // In bash the generator calls one place by two names where the command's own name has a hyphen.
        let script = String::from_utf8_lossy(&script).replace("ldp__subcmd__pca__subcmd__", "ldp__pca__subcmd__");
        print(script.as_bytes())
    }
}

impl ManPages {
    pub(super) fn run(self) -> Result<()> {
        if let Some(folder) = self.folder {
            fs::create_dir_all(&folder).in_file(&folder)?;
            return clap_mangen::generate_to(interface(), &folder).in_file(&folder);
        }
        let mut command = interface().disable_help_subcommand(true);
        command.build();
        let mut page: Vec<u8> = vec![];
        Man::new(command).render(&mut page)?;
        print(&page)
    }
}

fn print(text: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text)?;
    out.flush()?;
    Ok(())
}
