//! What each client sends: requests made before the clock starts, or a walk through the pages of a list, whose next request is
//! in the last answer.

use bytes::Bytes;

use crate::client::{Client, Outgoing};
use crate::error::Error;
use crate::operation::Operation;
use crate::options::Options;
use crate::target::Target;

/// The first and the last so many bytes of a page are searched for the token of the next: a list's metadata stands before its
/// items or behind them.
const SEARCHED_BYTES: usize = 2 << 10;
const CONTINUE: &[u8] = b"\"continue\":\"";

/// How many objects a client applies again and again. They are few: who applies an object for the first time becomes an owner
/// of its fields, and what is measured is what comes after.
const APPLIED_BY_A_CLIENT: usize = 4;

/// What one client sends.
pub(crate) enum Script {
    /// Each request once.
    Once(std::vec::IntoIter<Outgoing>),
    /// The requests again and again.
    Cycle { requests: Vec<Outgoing>, next: usize },
    /// A list, page by page; the whole list is one operation.
    Pages { target: std::sync::Arc<Target>, size: usize, expected: usize },
}

/// The load of one target in one round.
pub(crate) struct Scripts<'run> {
    pub(crate) target: &'run std::sync::Arc<Target>,
    pub(crate) options: &'run Options,
    /// Makes names and values new in each round.
    pub(crate) round: usize,
}

/// The name of an object that is there all the time.
pub(crate) fn base_name(nth: usize) -> String {
    format!("base-{nth:06}")
}

/// The name of an object that is there for a while.
fn extra_name(round: usize, nth: usize) -> String {
    format!("extra-{round}-{nth:06}")
}

/// The label value that the nth object shares with as many others as a batch has.
pub(crate) fn batch(options: &Options, nth: usize) -> String {
    format!("b-{:03}", nth % batches(options))
}

/// How many batches there are.
pub(crate) fn batches(options: &Options) -> usize {
    (options.objects / options.per_batch).max(1)
}

// === impl Scripts ===

impl Scripts<'_> {
    /// Creates the objects that are there all the time.
    pub(crate) fn fill(&self) -> Vec<Script> {
        let create = |nth| self.target.create(&base_name(nth), nth, &batch(self.options, nth));
        self.once(self.options.objects, create)
    }

    /// One script for each client. None for what is not a loop of requests.
    pub(crate) fn of(&self, operation: Operation) -> Option<Vec<Script>> {
        let (target, options, round) = (self.target, self.options, self.round);
        let extra = |nth| extra_name(round, nth);
        let applied = (APPLIED_BY_A_CLIENT * options.clients).min(options.objects / 2);
        match operation {
            Operation::Create => Some(self.once(options.created, |nth| target.create(&extra(nth), nth, "extra"))),
            Operation::Delete => Some(self.once(options.created, |nth| target.delete(&extra(nth)))),
            Operation::Get => Some(self.cycle(options.objects, |nth| target.get(&base_name(nth)))),
            Operation::List => Some(self.cycle(options.clients, |_| target.list(""))),
            Operation::LabelList => Some(self.cycle(batches(options).max(options.clients), |nth| {
                target.list(&format!("?labelSelector=batch%3D{}", batch(options, nth)))
            })),
            // Each object twice, with another value: a patch that changes nothing would write nothing.
            Operation::Patch => Some(self.cycle(options.objects * 2, |nth| {
                let (pass, nth) = (nth / options.objects, nth % options.objects);
                target.patch(&base_name(nth), &format!("{round}-{pass}"))
            })),
            Operation::ApplyNew => {
                Some(self.once(options.created, |nth| target.apply(&extra(nth), nth, "extra", "new")))
            }
            Operation::ApplyChange => Some(self.cycle(applied * 2, |nth| {
                let (pass, nth) = (nth / applied, nth % applied);
                target.apply(&base_name(nth), nth, &batch(options, nth), &format!("{round}-{pass}"))
            })),
            // Others than those that are changed: the first round makes them what they are then.
            Operation::ApplySame => Some(self.cycle(applied, |nth| {
                let nth = options.objects - 1 - nth;
                target.apply(&base_name(nth), nth, &batch(options, nth), "same")
            })),
            Operation::PagedList => {
                let expected = options.objects.div_ceil(options.page);
                let pages = |_| Script::Pages { target: target.clone(), size: options.page, expected };
                Some((0..options.clients).map(pages).collect())
            }
            Operation::Delivery | Operation::DeliveryAlone => None,
        }
    }

    /// Deletes what a round has created and not deleted.
    pub(crate) fn clear(&self) -> Vec<Script> {
        self.once(self.options.created, |nth| self.target.delete(&extra_name(self.round, nth)))
    }

    fn once(&self, count: usize, request: impl Fn(usize) -> Outgoing) -> Vec<Script> {
        self.deal(count, request).map(|requests| Script::Once(requests.into_iter())).collect()
    }

    fn cycle(&self, count: usize, request: impl Fn(usize) -> Outgoing) -> Vec<Script> {
        self.deal(count, request).map(|requests| Script::Cycle { requests, next: 0 }).collect()
    }

    /// Deals requests to clients like cards: no two clients have the same object, so none runs into a conflict.
    fn deal(&self, count: usize, request: impl Fn(usize) -> Outgoing) -> impl Iterator<Item = Vec<Outgoing>> {
        let clients = self.options.clients;
        (0..clients).map(move |client| (client..count).step_by(clients).map(&request).collect())
    }
}

// === impl Script ===

impl Script {
    /// Does one operation and gives the length of its answer. None if there is nothing left to do.
    pub(crate) async fn step(&mut self, client: &mut Client) -> Result<Option<usize>, Error> {
        match self {
            Self::Once(requests) => match requests.next() {
                None => Ok(None),
                Some(request) => client.exchange(request).await.map(Some),
            },
            Self::Cycle { requests, next } => {
                let Some(request) = requests.get(*next % requests.len().max(1)) else { return Ok(None) };
                *next += 1;
                client.exchange(request.clone()).await.map(Some)
            }
            Self::Pages { target, size, expected } => walk(target, client, *size, *expected).await.map(Some),
        }
    }
}

/// Reads a list page by page. Gives the length of all of them.
async fn walk(target: &Target, client: &mut Client, size: usize, expected: usize) -> Result<usize, Error> {
    let (mut pages, mut length) = (0, 0);
    let mut query = format!("?limit={size}");
    loop {
        let page = client.fetch(target.list(&query)).await?;
        pages += 1;
        length += page.len();
        match next_page(&page) {
            Some(token) => query = format!("?limit={size}&continue={token}"),
            None if pages == expected => return Ok(length),
            None => return Err(target.unequal(format!("its list has {pages} pages instead of {expected}"))),
        }
    }
}

/// The token of the next page, fit for a query. None on the last page.
fn next_page(page: &Bytes) -> Option<String> {
    let head = &page[..page.len().min(SEARCHED_BYTES)];
    let tail = &page[page.len().saturating_sub(SEARCHED_BYTES)..];
    let token = [head, tail].into_iter().find_map(|part| {
        let start = part.windows(CONTINUE.len()).position(|window| window == CONTINUE)? + CONTINUE.len();
        let rest = &part[start..];
        Some(&rest[..rest.iter().position(|&byte| byte == b'"')?])
    })?;
    if token.is_empty() {
        return None;
    }
    let encode = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    Some(token.iter().map(encode).collect())
}

#[cfg(test)]
mod tests;
