//! A private instance of real PostgreSQL: a throwaway cluster in a temporary folder, reached over a local socket.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder with PostgreSQL's programs. The tests are skipped where there is none.
const PROGRAMS: &str = "LDP_PCA_POSTGRES_BIN";

/// A running cluster, stopped when dropped.
pub(super) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
}

impl Cluster {
    /// Makes and starts one; `None`, with a message, where PostgreSQL is not installed. All have one identifier.
    pub(super) fn start(settings: &[&str]) -> Option<Self> {
        Self::start_with(settings, Self::copy_template)
    }

    pub(super) fn start_with(settings: &[&str], make: fn(&Self)) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!(
                "skipped: no PostgreSQL under /usr/lib/postgresql; install Debian's package postgresql, or set \
                    {PROGRAMS}"
            );
            return None;
        };
        let folder = tempfile::Builder::new().prefix("ldp").tempdir().unwrap();
        // PostgreSQL does not run as root.
        let root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let user = root.then(|| unprivileged().expect("a user postgres or nobody"));
        let cluster = Self { folder, programs, user };
        cluster.give(cluster.folder.path());
        make(&cluster);
        let conf = cluster.data().join("postgresql.conf");
        let socket = cluster.folder.path().display();
        let more: String = settings.iter().map(|setting| format!("{setting}\n")).collect();
        let text = fs::read_to_string(&conf).unwrap();
        fs::write(&conf, format!("{text}\nlisten_addresses = ''\nunix_socket_directories = '{socket}'\n{more}"))
            .unwrap();
        cluster.up();
        Some(cluster)
    }

    /// Makes it anew, with an identifier of its own.
    pub(super) fn make(&self) {
        self.run("initdb", &["--username=me", "--auth=trust", "--no-sync", "--encoding=UTF8", "--no-locale", "-D"]);
    }

    /// Making one takes longer than most tests do with it: it is done once, and kept beside the program of the tests.
    fn copy_template(&self) {
        let version = String::from_utf8(self.command("initdb").arg("--version").output().unwrap().stdout).unwrap();
        let version = version.split_whitespace().nth(2).unwrap();
        let owner = fs::metadata(self.folder.path()).unwrap().uid();
        let named = |end: &str| {
            let name = format!("initdb-{version}-{owner}{end}");
            std::env::current_exe().unwrap().with_file_name(name)
        };
        let template = named("");
        if !template.is_dir() {
            let lock = fs::File::create(named(".lock")).unwrap();
            lock.lock().unwrap();
            if !template.is_dir() {
                self.make();
                // Complete or absent; what is left of a test that was killed goes.
                let unfinished = named(".tmp");
                let _ = fs::remove_dir_all(&unfinished);
                self.copy_files(&self.data(), &unfinished);
                return fs::rename(unfinished, template).unwrap();
            }
        }
        self.copy_files(&template, &self.data());
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        format!("postgres:///postgres?user=me&host={}", self.folder.path().display())
    }

    /// The socket that it listens on.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    /// Stops it: `fast` in order, `immediate` as a crash does, so that nothing is finished and nothing is written.
    pub(super) fn stop(&self, mode: &str) {
        self.run("pg_ctl", &["-w", "-s", "-m", mode, "stop", "-D"]);
    }

    pub(super) fn up(&self) {
        let log = self.folder.path().join("log");
        self.run("pg_ctl", &["-w", "-s", "-l", log.to_str().unwrap(), "start", "-D"]);
    }

    /// Ends all its processes at once, as a system that is out of memory does.
    pub(super) fn kill(&self) {
        let pid = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let pid = pid.lines().next().unwrap().to_owned();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        // The first one first: it would ask the others to end.
        let pids: Vec<&str> = [&pid[..]].into_iter().chain(children.split_whitespace()).collect();
        // One that has ended by itself since then makes `kill` fail; that all have ended is seen below.
        Command::new("kill").arg("-9").args(&pids).output().unwrap();
        let lives = |pid: &&str| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        while pids.iter().any(lives) {
            std::thread::yield_now();
        }
        // If nobody reaps them they seem to live.
        fs::remove_file(self.data().join("postmaster.pid")).unwrap();
        fs::remove_file(self.folder.path().join(".s.PGSQL.5432.lock")).unwrap();
    }

    /// Copies the files of a cluster that is stopped.
    pub(super) fn copy(&self) {
        self.copy_files(&self.data(), &self.folder.path().join("copy"));
    }

    /// Replaces the files with the copy. The cluster is stopped.
    pub(super) fn put_copy_back(&self) {
        fs::remove_dir_all(self.data()).unwrap();
        self.copy_files(&self.folder.path().join("copy"), &self.data());
    }

    fn copy_files(&self, from: &Path, to: &Path) {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    }

    /// Makes a folder that of its user.
    pub(super) fn give(&self, folder: &Path) {
        if let Some((uid, gid)) = self.user {
            chown(folder, Some(uid), Some(gid)).unwrap();
        }
    }

    /// A dump of the database, as pg_dump makes it.
    pub(super) fn dump(&self) -> Vec<u8> {
        let folder = self.folder.path().to_str().unwrap();
        let dump = self.command("pg_dump").args(["-h", folder, "-U", "me", "postgres"]).output().unwrap();
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        dump.stdout
    }

    /// Puts a dump into the database, all or nothing.
    pub(super) fn restore(&self, dump: &[u8]) {
        let folder = self.folder.path().to_str().unwrap();
        let mut psql = self.command("psql");
        psql.args(["-q", "-1", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "me", "postgres"]);
        psql.env("PGOPTIONS", "-c client_min_messages=warning");
        let mut child = psql.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(dump).unwrap();
        assert!(child.wait().unwrap().success());
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs a program whose last argument is the data folder.
    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        command.args(arguments).arg(self.data()).stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status().unwrap();
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        assert!(status.success(), "{program} failed: {log}");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = self.command("pg_ctl");
        stop.args(["-s", "-m", "immediate", "stop", "-D"]).arg(self.data()).stderr(Stdio::null());
        // It may be stopped already.
        drop(stop.status());
    }
}

/// The folder of the newest PostgreSQL.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(PROGRAMS) {
        return Some(folder.into());
    }
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let release = |path: &Path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    versions.max_by_key(|path| release(path)).map(|path| path.join("bin")).filter(|path| path.join("initdb").is_file())
}

/// User and group of `postgres` or else `nobody`.
fn unprivileged() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').collect();
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}
