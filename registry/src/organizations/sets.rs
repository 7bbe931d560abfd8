//! Named sets of users, and of each user the sets it is in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Named sets of users, and of each user the sets it is in. A change costs what the set costs that changed.
#[derive(Debug, Default)]
pub(super) struct Sets {
    users: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    sets: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
}

// === impl Sets ===

impl Sets {
    /// Makes a set what it is now.
    pub(super) fn put(&mut self, set: &str, users: impl IntoIterator<Item = String>) {
        let mut gone = self.users.remove(set).unwrap_or_default();
        let set: Arc<str> = set.into();
        let mut now = BTreeSet::new();
        for user in users {
            // The name is kept once, however many sets it is in.
            let user = self.sets.get_key_value(user.as_str()).map_or_else(|| user.into(), |(user, _)| user.clone());
            if !gone.remove(&user) {
                self.sets.entry(user.clone()).or_default().insert(set.clone());
            }
            now.insert(user);
        }
        for user in gone {
            self.leave(&user, &set);
        }
        self.users.insert(set, now);
    }

    /// Forgets a set.
    pub(super) fn remove(&mut self, set: &str) {
        for user in self.users.remove(set).unwrap_or_default() {
            self.leave(&user, set);
        }
    }

    /// The sets that a user is in, in the order of their names.
    pub(super) fn of(&self, user: &str) -> impl Iterator<Item = &Arc<str>> {
        self.sets.get(user).into_iter().flatten()
    }

    fn leave(&mut self, user: &str, set: &str) {
        let Some(sets) = self.sets.get_mut(user) else { return };
        sets.remove(set);
        if sets.is_empty() {
            self.sets.remove(user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sets;

    fn of(sets: &Sets, user: &str) -> Vec<String> {
        sets.of(user).map(ToString::to_string).collect()
    }

    #[test]
    fn users_know_their_sets_as_these_change() {
        let mut sets = Sets::default();
        let users = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        sets.put("dev", users(&["alice", "bob", "alice"]));
        sets.put("ops", users(&["bob"]));
        assert_eq!((of(&sets, "alice"), of(&sets, "bob")), (users(&["dev"]), users(&["dev", "ops"])));
        sets.put("dev", users(&["carol", "bob"]));
        assert_eq!((of(&sets, "alice"), of(&sets, "carol")), (users(&[]), users(&["dev"])));
        sets.remove("dev");
        assert_eq!((of(&sets, "bob"), of(&sets, "carol")), (users(&["ops"]), users(&[])));
        sets.remove("ops");
        assert!(sets.users.is_empty() && sets.sets.is_empty(), "nothing is left behind: {sets:?}");
    }
}
