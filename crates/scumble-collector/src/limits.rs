//! How often one address or token may ask: a leaky bucket each, in memory only, gone when the process ends.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More buckets than this are never kept; empty ones go first, and if that is not enough, all go.
const MOST_BUCKETS: usize = 1 << 16;

/// A number of requests per second, with bursts of two seconds' worth.
pub struct RateLimit {
    cost: Option<Duration>, // of one request; `None`: no limit
    start: Instant,
    hasher: RandomState,                    // addresses and tokens are known by a keyed hash only
    buckets: Mutex<HashMap<u64, Duration>>, // when each will be empty
}

impl RateLimit {
    /// At most this many requests per second for each key; 0 is no limit.
    pub fn new(per_second: u32) -> Self {
        let cost = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Self { cost, start: Instant::now(), hasher: RandomState::new(), buckets: Mutex::default() }
    }

    /// Takes one request of an address into account; `Err` says how long to wait.
    pub fn admit_address(&self, address: IpAddr) -> Result<(), Duration> {
        self.admit(self.hasher.hash_one(network(address)), self.start.elapsed())
    }

    /// The same for the hash of a token.
    pub fn admit_token(&self, hash: &[u8; 32]) -> Result<(), Duration> {
        self.admit(self.hasher.hash_one(hash), self.start.elapsed())
    }

    fn admit(&self, key: u64, now: Duration) -> Result<(), Duration> {
        let Some(cost) = self.cost else { return Ok(()) };
        let depth = Duration::from_secs(2).max(cost);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let empty_at = buckets.get(&key).copied().unwrap_or_default().max(now) + cost;
        if empty_at > now + depth {
            return Err(empty_at - now - depth);
        }
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&key) {
            buckets.retain(|_, empty_at| *empty_at > now);
            if buckets.len() >= MOST_BUCKETS {
                buckets.clear(); // a flood of addresses: forget rather than grow
            }
        }
        buckets.insert(key, empty_at);
        Ok(())
    }
}

/// What counts as one address: anyone who has one IPv6 address has its whole network, a /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_pass_and_floods_wait() {
        let limit = RateLimit::new(10);
        let at = Duration::from_millis;
        for _ in 0..20 {
            assert_eq!(limit.admit(1, at(0)), Ok(()));
        }
        assert_eq!(limit.admit(1, at(0)), Err(at(100)));
        assert_eq!(limit.admit(2, at(0)), Ok(()), "others are not held up");
        assert_eq!(limit.admit(1, at(100)), Ok(()));
        assert!(limit.admit(1, at(100)).is_err());
        assert_eq!(RateLimit::new(0).admit(1, at(0)), Ok(()));
    }

    #[test]
    fn addresses_of_one_network_share_and_memory_is_bounded() {
        let limit = RateLimit::new(1);
        let (a, b): (IpAddr, IpAddr) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        assert!(limit.admit_address(a).is_ok());
        // One a second is admitted, and a few at first: whoever goes on is refused on the slowest machine, too.
        assert!((0..1000).any(|at| limit.admit_address([b, a][at % 2]).is_err()), "a flood waits");
        assert_eq!(limit.buckets.lock().unwrap().len(), 1, "both have one bucket");
        for address in 0..3 * MOST_BUCKETS as u32 {
            let _ = limit.admit_address(IpAddr::V4(address.into()));
            assert!(limit.buckets.lock().unwrap().len() <= MOST_BUCKETS);
        }
    }
}
