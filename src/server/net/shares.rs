//! What each client holds of something that all of them share, so that none can take it all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::Client;

/// What clients hold, each at most so much. A client that holds nothing is not remembered.
pub(in super::super) struct Shares {
    most: usize,
    held: Mutex<HashMap<Client, usize>>,
}

/// What one client holds, for as long as this is kept.
pub(in super::super) struct Portion {
    shares: Arc<Shares>,
    client: Client,
    amount: usize,
}

impl Shares {
    /// At most `most` each.
    pub(in super::super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, held: Mutex::default() })
    }

    /// Takes so much for the client, unless it then held too much.
    pub(in super::super) fn take(self: &Arc<Self>, client: Client, amount: usize) -> Option<Portion> {
        let mut portion = Portion { shares: Arc::clone(self), client, amount: 0 };
        portion.grow(amount).then_some(portion)
    }

    fn hold(&self) -> MutexGuard<'_, HashMap<Client, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Portion {
    /// Takes so much more, unless the client then held too much.
    pub(in super::super) fn grow(&mut self, amount: usize) -> bool {
        let mut held = self.shares.hold();
        let of_client = held.get(&self.client).copied().unwrap_or(0);
        let Some(grown) = of_client.checked_add(amount).filter(|grown| *grown <= self.shares.most) else {
            return false;
        };
        if amount > 0 {
            held.insert(self.client, grown);
            self.amount += amount;
        }
        true
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut held = self.shares.hold();
        if let Some(of_client) = held.get_mut(&self.client) {
            *of_client -= self.amount;
            if *of_client == 0 {
                held.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_holds_its_share_and_no_more_and_others_have_theirs() {
        let shares = Shares::new(10);
        let client = |text: &str| Client::from(text.parse::<std::net::IpAddr>().unwrap());
        let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
        let mut first = shares.take(one, 6).unwrap();
        assert!(shares.take(one, 5).is_none() && !first.grow(5) && shares.take(other, 10).is_some());
        let second = shares.take(one, 4).unwrap();
        assert!(!first.grow(1) && shares.take(one, 0).is_some());
        drop(second);
        assert!(first.grow(4) && !first.grow(usize::MAX));
        drop(first);
        assert!(shares.hold().is_empty() && shares.take(one, 10).is_some());
    }
}
