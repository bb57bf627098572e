//! What depends on the system: the numbers and rights of files, and signals.

#[cfg(unix)]
pub(super) use self::unix::{is_device, number, number_of, take_rights, watch, with_rights};

#[cfg(not(unix))]
pub(super) use self::other::{is_device, number, number_of, take_rights, watch, with_rights};

#[cfg(unix)]
mod unix {
    use std::fs::{File, Metadata, OpenOptions, Permissions, metadata};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
    use std::path::Path;
    use std::sync::Once;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    pub(in super::super) fn is_device(path: &Path) -> bool {
        metadata(path).is_ok_and(|metadata| metadata.file_type().is_char_device())
    }

    /// The number of a file, which all its names share.
    pub(in super::super) fn number_of(metadata: &Metadata) -> Option<(u64, u64)> {
        metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
    }

    /// That of the file which a stream reads or writes.
    pub(in super::super) fn number(stream: impl AsFd) -> Option<(u64, u64)> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        number_of(&file.metadata().ok()?)
    }

    pub(in super::super) fn with_rights(rights: u32) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.mode(rights);
        options
    }

    /// Gives a file the rights of another, which no group gains by that.
    pub(in super::super) fn take_rights(file: &File, of: &Metadata) -> std::io::Result<()> {
        let rights = if fchown(file, None, Some(of.gid())).is_ok() { 0o777 } else { 0o707 };
        file.set_permissions(Permissions::from_mode(of.mode() & rights))
    }

    /// From now on `removal` runs before a signal ends the process, and what it returns is held until then.
    pub(in super::super) fn watch<T: 'static>(removal: fn() -> T) {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(|| {
            // Elsewhere nothing tells that a command is to outlive its terminal (nohup).
            let hangup = cfg!(target_os = "linux").then_some(SIGHUP);
            let signals = [SIGINT, SIGTERM].into_iter().chain(hangup).filter(|signal| !is_ignored(*signal));
            let Ok(mut signals) = Signals::new(signals) else { return };
            let end = move || {
                for signal in signals.forever() {
                    let _held = removal();
                    // The shell sees that a signal ended the command.
                    let _ = emulate_default_handler(signal);
                }
            };
            let _ = thread::Builder::new().spawn(end);
        });
    }

    /// Whether the command was started so that this signal does nothing, as shells do in the background.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (signal - 1) & 1 == 1
    }
}

/// Files have names alone there, and a command that is stopped leaves its temporary file.
#[cfg(not(unix))]
mod other {
    use std::fs::{File, Metadata, OpenOptions};
    use std::path::Path;

    pub(in super::super) fn is_device(_: &Path) -> bool {
        false
    }

    pub(in super::super) fn number_of(_: &Metadata) -> Option<(u64, u64)> {
        None
    }

    pub(in super::super) fn number<T>(_: T) -> Option<(u64, u64)> {
        None
    }

    pub(in super::super) fn with_rights(_: u32) -> OpenOptions {
        OpenOptions::new()
    }

    pub(in super::super) fn take_rights(_: &File, _: &Metadata) -> std::io::Result<()> {
        Ok(())
    }

    pub(in super::super) fn watch<T>(_: fn() -> T) {}
}
