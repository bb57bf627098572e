//! Every connection is an open file.

/// Lets this process open as many files as the system allows it; often only a fraction of them is at first. It concerns the whole
/// process: for programs that are a server, at their start.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // With fewer files there are fewer connections: nothing else changes.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}
