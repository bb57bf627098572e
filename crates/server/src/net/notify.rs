//! What a service manager is told, as sd_notify(3) says: each state is a datagram to the socket in `NOTIFY_SOCKET`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixDatagram;
#[cfg(target_os = "linux")]
use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};
use std::path::Path;

/// Tells this state, such as `READY=1`, to the service manager that asked for it. A failure is only logged.
pub(super) fn tell_manager(state: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::error!(state, socket = %Path::new(&socket).display(), %error, "the service manager cannot be told");
    }
}

/// Sends to a path, or on Linux to an abstract name behind an `@`.
fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let datagrams = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_encoded_bytes().strip_prefix(b"@") {
        return datagrams.send_to_addr(state.as_bytes(), &SocketAddr::from_abstract_name(name)?).map(drop);
    }
    datagrams.send_to(state.as_bytes(), socket).map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_a_datagram_to_an_abstract_name() {
        let name = format!("ldp-pca-test-{}", std::process::id());
        let manager = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(OsStr::new(&format!("@{name}")), "READY=1").unwrap();
        let mut bytes = [0; 64];
        manager.set_nonblocking(true).unwrap();
        let length = manager.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"READY=1");
    }
}
