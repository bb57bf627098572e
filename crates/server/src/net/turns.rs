//! Requests of one client wait for each other, so that many at once do not make those of others wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client::Client;
use crate::locks::hold;

/// The turns of each client with requests.
#[derive(Default)]
pub(in super::super) struct Turns {
    of_clients: Mutex<HashMap<Client, Arc<Semaphore>>>,
}

/// Requests of one client that are answered at the same time; its others wait.
const AT_ONCE: usize = 4;

/// One turn, until it is dropped.
pub(in super::super) struct Turn {
    turns: Arc<Turns>,
    client: Client,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// Waits for the client's turn. Only for requests that are answered without waiting.
    pub(in super::super) async fn wait(self: &Arc<Self>, client: Client) -> Turn {
        let new = || Arc::new(Semaphore::new(AT_ONCE));
        let permits = Arc::clone(hold(&self.of_clients).entry(client).or_insert_with(new));
        // Kept from now on, in case the request is given up while it waits.
        let mut turn = Turn { turns: Arc::clone(self), client, permit: None };
        turn.permit = permits.acquire_owned().await.ok();
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut of_clients = hold(&self.turns.of_clients);
        self.permit.take();
        // Under the lock no request arrives; a waiting request holds it too.
        if of_clients.get(&self.client).is_some_and(|permits| Arc::strong_count(permits) == 1) {
            of_clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_client_waits_only_for_its_own_requests_and_is_forgotten_afterwards() {
        let turns = Arc::new(Turns::default());
        let client = |text: &str| Client::from(text.parse::<IpAddr>().unwrap());
        let mut taken = Vec::new();
        for _ in 0..AT_ONCE {
            taken.push(turns.wait(client("192.0.2.1")).await);
        }
        let mut next = Box::pin(turns.wait(client("192.0.2.1")));
        assert!(timeout(Duration::ZERO, &mut next).await.is_err());
        drop(turns.wait(client("192.0.2.2")).await);
        taken.pop();
        assert!(timeout(Duration::ZERO, &mut next).await.is_ok());
        let mut given_up = Box::pin(turns.wait(client("192.0.2.1")));
        let _ = timeout(Duration::ZERO, &mut given_up).await;
        drop((given_up, next, taken));
        assert!(hold(&turns.of_clients).is_empty());
    }
}
