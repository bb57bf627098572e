//! Settings for the files of the whole process, which a server program makes at its start.

/// Lets this process open as many files as the system allows, since every connection is one. At first it is often only
/// a fraction of them.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // With fewer files there are fewer connections: nothing else changes.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Makes new files and folders of this process readable only by its user.
pub fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}
