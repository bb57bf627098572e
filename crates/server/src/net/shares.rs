//! Each client's share of a common resource, so that no client and no crowd of clients can take it all. And the turns
//! of a client's requests, which wait for each other, so that many at once do not make those of others wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client::Client;
use crate::config::Most;
use crate::locks::hold;

/// The reason why a client gets no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Full {
    /// Everything is taken.
    All,
    /// The client has its share.
    Client,
}

impl Full {
    /// Who has as much as it may, in the answer to this client.
    pub(in super::super) fn who(self) -> &'static str {
        match self {
            Self::All => "the server has",
            Self::Client => "your address has open here",
        }
    }
}

/// The clients' parts of the whole. A client that holds nothing is not remembered.
pub(in super::super) struct Shares {
    whole: usize,
    most: Most,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    by_all: usize,
    by_client: HashMap<Client, usize>,
}

/// One client's part, for as long as this is kept.
pub(in super::super) struct Portion {
    shares: Arc<Shares>,
    client: Client,
    amount: usize,
}

impl Shares {
    /// A whole of this size, with this share for each client.
    pub(in super::super) fn new(whole: usize, most: Most) -> Arc<Self> {
        Arc::new(Self { whole, most, held: Mutex::default() })
    }

    /// Takes this much for the client.
    pub(in super::super) fn take(self: &Arc<Self>, client: Client, amount: usize) -> Result<Portion, Full> {
        let mut portion = Portion { shares: Arc::clone(self), client, amount: 0 };
        portion.grow(amount, 0)?;
        Ok(portion)
    }
}

impl Portion {
    /// Takes this much more, if `spared` is still free for others afterwards.
    pub(in super::super) fn grow(&mut self, amount: usize, spared: usize) -> Result<(), Full> {
        if amount == 0 {
            return Ok(());
        }
        let Shares { whole, most, .. } = *self.shares;
        let mut held = hold(&self.shares.held);
        let by_client = held.by_client.get(&self.client).copied().unwrap_or(0);
        let left_by_others = whole.saturating_sub(spared).saturating_sub(held.by_all - by_client);
        let grown = by_client.saturating_add(amount);
        if grown > left_by_others {
            return Err(Full::All);
        }
        if grown > most.of(left_by_others) {
            return Err(Full::Client);
        }
        held.by_client.insert(self.client, grown);
        held.by_all += amount;
        self.amount += amount;
        Ok(())
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut held = hold(&self.shares.held);
        held.by_all -= self.amount;
        give_back(&mut held.by_client, self.client, self.amount);
    }
}

/// Takes this much off a client's count. A client without any is not remembered.
pub(super) fn give_back(of_clients: &mut HashMap<Client, usize>, client: Client, amount: usize) {
    if let Some(count) = of_clients.get_mut(&client) {
        *count -= amount;
        if *count == 0 {
            of_clients.remove(&client);
        }
    }
}

/// The turns of each client with requests.
#[derive(Default)]
pub(in super::super) struct Turns(Mutex<HashMap<Client, Arc<Semaphore>>>);

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
        let permits = Arc::clone(hold(&self.0).entry(client).or_insert_with(new));
        // Kept from now on, in case the request is given up while it waits.
        let mut turn = Turn { turns: Arc::clone(self), client, permit: None };
        turn.permit = permits.acquire_owned().await.ok();
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut of_clients = hold(&self.turns.0);
        self.permit.take();
        // Under the lock no request arrives; a waiting request holds it too.
        if of_clients.get(&self.client).is_some_and(|permits| Arc::strong_count(permits) == 1) {
            of_clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn client(number: u16) -> Client {
        let [high, low] = number.to_be_bytes();
        IpAddr::from(Ipv4Addr::new(192, 0, high, low)).into()
    }

    #[test]
    fn a_client_holds_its_share_and_no_more_and_others_have_theirs() {
        let shares = Shares::new(100, Most::Fixed(10));
        let mut first = shares.take(client(1), 6).unwrap();
        assert_eq!((shares.take(client(1), 5).err(), first.grow(5, 0)), (Some(Full::Client), Err(Full::Client)));
        assert!(shares.take(client(2), 10).is_ok());
        let second = shares.take(client(1), 4).unwrap();
        assert!(first.grow(1, 0).is_err() && first.grow(0, 0).is_ok());
        drop(second);
        assert!(first.grow(4, 0).is_ok() && first.grow(usize::MAX, 0).is_err());
        drop(first);
        let held = hold(&shares.held);
        assert!(held.by_client.is_empty() && held.by_all == 0);
    }

    #[test]
    fn taken_shares_never_exceed_the_total_and_spared_ones_stay() {
        let shares = Shares::new(10, Most::Fixed(8));
        let mut first = shares.take(client(1), 0).unwrap();
        assert_eq!((first.grow(8, 3), first.grow(7, 3)), (Err(Full::All), Ok(())));
        let mut second = shares.take(client(2), 0).unwrap();
        assert_eq!((second.grow(4, 0), second.grow(1, 3), second.grow(3, 0)), (Err(Full::All), Err(Full::All), Ok(())));
    }

    /// If any number of clients take all that they get, the next one still gets about as much as each of them.
    #[test]
    fn a_crowd_leaves_room_for_the_next() {
        for (crowd, least) in [(1, 900), (10, 600), (100, 120), (1000, 15)] {
            let shares = Shares::new(16_384, Most::Part(16));
            let mut portions: Vec<Portion> = (0..crowd).map(|number| shares.take(client(number), 0).unwrap()).collect();
            // One each in turn, until nobody gets any more.
            while portions.iter_mut().filter_map(|portion| portion.grow(1, 0).ok()).count() > 0 {}
            assert!(portions[0].amount <= 1024);
            let mut next = shares.take(client(crowd), 0).unwrap();
            while next.grow(1, 0).is_ok() {}
            assert!(next.amount >= least, "{crowd}: {} for each, and {} for the next", portions[0].amount, next.amount);
        }
    }

    #[tokio::test]
    async fn a_client_waits_only_for_its_own_requests_and_is_forgotten_afterwards() {
        let turns = Arc::new(Turns::default());
        let mut taken = Vec::new();
        for _ in 0..AT_ONCE {
            taken.push(turns.wait(client(1)).await);
        }
        let mut next = Box::pin(turns.wait(client(1)));
        assert!(timeout(Duration::ZERO, &mut next).await.is_err());
        drop(turns.wait(client(2)).await);
        taken.pop();
        assert!(timeout(Duration::ZERO, &mut next).await.is_ok());
        let mut given_up = Box::pin(turns.wait(client(1)));
        let _ = timeout(Duration::ZERO, &mut given_up).await;
        drop((given_up, next, taken));
        assert!(hold(&turns.0).is_empty());
    }
}
