//! What concerns the files of the whole process: for programs that are a server, at their start.

/// Lets this process open as many files as the system allows it, for every connection is one; often only a fraction of
/// them is at first.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // With fewer files there are fewer connections: nothing else changes.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Makes new files and folders of this process readable by its user alone: reports are nobody else's.
pub fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}
