//! How long a searching worker stays awake.

use crate::protocol::waiting::{self, Sleeper};
use crate::shared::guest::{Guests, Outlook, Watches};
use crate::worker::{home::Home, patience::Timed};

/// The patience of a searching worker. An idle worker's lasts longer while guests come.
pub(super) struct Watchful<'w> {
    patience: Timed<'w>,
    home: &'w Home,
    guests: Option<&'w Guests>,
    outlook: Outlook,
}

impl<'w> Watchful<'w> {
    pub(super) fn new(home: &'w Home, is_idle: bool) -> Self {
        let guests = home.common.guests.as_ref().filter(|_| is_idle && home.sleeps());
        let outlook = guests.map_or_else(Outlook::default, Guests::outlook);
        Self { patience: Timed::new(home), home, guests, outlook }
    }
}

impl waiting::Backoff for Watchful<'_> {
    fn wait(&mut self) -> bool {
        if self.patience.wait() {
            return true;
        }
        let steals = self.home.counters.steals.get();
        match self.guests.and_then(|guests| guests.watch(self.home.index, &mut self.outlook, steals)) {
            None => return false,
            Some(Watches::Awake) => self.patience.give_way(),
            Some(Watches::Napped) => {
                if let Some(elsewhere) = &self.home.common.elsewhere {
                    elsewhere.come_back(self.home.index);
                }
                if self.home.common.dormitory.has_guest() {
                    self.patience.start_over();
                }
            }
        }
        true
    }

    fn may_be_long(&self) -> bool {
        self.patience.may_be_long() || self.outlook.lingers() && self.patience.may_be_long_after()
    }

    fn hold_on(&mut self) {
        self.patience.hold_on();
    }

    fn renew(&mut self) {
        self.patience.renew();
    }
}
