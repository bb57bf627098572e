//! What the system says about this process, under the names that Prometheus' own clients use (`process_…`).

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::locks::hold;

/// How long figures are kept. Counting open files is slow when thousands are open, and a flood of requests for metrics
/// must not repeat it each time.
const KEPT: Duration = Duration::from_secs(1);

/// The process, from its start on.
pub(super) struct Process {
    /// In seconds since 1970. The system's own figure needs a part of /proc that a service may not see.
    started: f64,
    last: Mutex<Option<(Instant, Figures)>>,
}

/// The figures of a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    cpu_seconds: f64,
    resident_bytes: i64,
    virtual_bytes: i64,
    threads: i64,
    open_files: i64,
    most_files: i64,
}

impl Default for Process {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self { started: now.map_or(0.0, |since| since.as_secs_f64()), last: Mutex::default() }
    }
}

impl Process {
    /// Registers the figures of the last second; elsewhere than on Linux only the start.
    pub(super) fn register(&self, registry: &mut Registry) {
        let process = registry.sub_registry_with_prefix("process");
        let (started, gauge) = (ConstGauge::new(self.started), ConstGauge::<i64>::new);
        process.register_with_unit("start_time", "Start of the process, since 1970", Unit::Seconds, started);
        let Some(now) = self.figures() else { return };
        let cpu = ConstCounter::new(now.cpu_seconds);
        process.register_with_unit("cpu", "Processor time of the process, user and system", Unit::Seconds, cpu);
        let (resident, room) = (gauge(now.resident_bytes), gauge(now.virtual_bytes));
        process.register_with_unit("resident_memory", "Memory that the process occupies", Unit::Bytes, resident);
        process.register_with_unit("virtual_memory", "Address space of the process", Unit::Bytes, room);
        process.register("threads", "Threads of the process", gauge(now.threads));
        process.register("open_fds", "Files and connections that the process has open", gauge(now.open_files));
        process.register("max_fds", "Files and connections that the process may have open", gauge(now.most_files));
    }

    fn figures(&self) -> Option<Figures> {
        let mut last = hold(&self.last);
        if last.is_none_or(|(when, _)| when.elapsed() >= KEPT) {
            *last = Figures::now().map(|figures| (Instant::now(), figures));
        }
        last.map(|(_, figures)| figures)
    }
}

impl Figures {
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        use rustix::process::{Resource, getrlimit};

        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let mut figures = Self::read(&stat, rustix::param::clock_ticks_per_second(), rustix::param::page_size())?;
        // The folder that is being read is one of them.
        let open = std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
        figures.open_files = i64::try_from(open).ok()?;
        let most = getrlimit(Resource::Nofile).current;
        figures.most_files = most.map_or(i64::MAX, |most| i64::try_from(most).unwrap_or(i64::MAX));
        Some(figures)
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }

    /// The figures in a line of /proc/self/stat (proc_pid_stat(5)). The second field, the name, may have spaces.
    #[cfg(any(target_os = "linux", test))]
    fn read(stat: &str, ticks_per_second: u64, page_bytes: usize) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // The first one here is the third one of the manual.
        let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) as f64 / ticks_per_second as f64,
            threads: field(20)?,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)?.checked_mul(i64::try_from(page_bytes).ok()?)?,
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_manual_whatever_the_name_of_the_program() {
        let rest = "S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 12345 1000000 250 18446744073709551615";
        for name in ["ldp-pca", "a (b) c", ") 1 2 3"] {
            let found = Figures::read(&format!("7 ({name}) {rest}"), 100, 4096).unwrap();
            let expected = Figures {
                cpu_seconds: 2.0,
                threads: 9,
                virtual_bytes: 1_000_000,
                resident_bytes: 250 * 4096,
                ..Figures::default()
            };
            assert_eq!(found, expected, "{name}");
        }
        for cut in ["", "7 (x", "7 (x) S 1", "7 (x) S 1 7 7 0 -1 4194560 100 0 0 0 many"] {
            assert_eq!(Figures::read(cut, 100, 4096), None, "{cut}");
        }
    }
}
