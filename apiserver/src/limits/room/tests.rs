use std::time::Duration;

use tokio::task::yield_now;

use super::*;

const PATIENCE: Duration = Duration::from_millis(500);

fn room(seats: usize) -> Arc<Room> {
    Arc::new(Room::new(seats, PATIENCE))
}

fn taken(room: &Room) -> usize {
    room.lock().taken
}

/// Begins to wait, and is found in the queue.
async fn queue(room: &Arc<Room>, user: &'static str) -> tokio::task::JoinHandle<Result<Seat, TooMany>> {
    let (before, waiting) = (room.waiting(), room.clone());
    let task = tokio::spawn(async move { waiting.enter(user).await });
    while room.waiting() == before {
        yield_now().await;
    }
    task
}

#[tokio::test(start_paused = true)]
async fn one_user_has_a_share_and_the_rest_is_for_others() {
    let room = room(4);
    let mut seats = Vec::new();
    for _ in 0..3 {
        seats.push(room.enter("a").await.unwrap());
    }
    assert_eq!(room.enter("a").await.err(), Some(TooMany));
    seats.push(room.enter("b").await.unwrap());
    // Now there is none at all.
    assert_eq!(room.enter("c").await.err(), Some(TooMany));
    assert_eq!(room.waiting(), 0);
    drop(seats);
    assert_eq!(taken(&room), 0);
    assert!(room.enter("c").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_holds_least_comes_first() {
    let room = room(4);
    let mut seats = Vec::new();
    for user in ["a", "a", "b", "b"] {
        seats.push(room.enter(user).await.unwrap());
    }
    let first = queue(&room, "a").await;
    let second = queue(&room, "a").await;
    let third = queue(&room, "c").await;
    seats.pop();
    assert_eq!(&*third.await.unwrap().unwrap().user, "c", "c held nothing");
    // c has left again, a and b hold two and one: a waits alone.
    let held = first.await.unwrap().unwrap();
    assert_eq!(room.waiting(), 1);
    drop(held);
    assert_eq!(&*second.await.unwrap().unwrap().user, "a");
}

#[tokio::test(start_paused = true)]
async fn equals_are_served_in_the_order_of_their_arrival() {
    let room = room(1);
    let seat = room.enter("a").await.unwrap();
    let refused = [queue(&room, "b").await];
    // One seat, one place to wait.
    assert_eq!(room.enter("c").await.err(), Some(TooMany));
    drop(seat);
    for task in refused {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let room = room(2);
    let seats = [room.enter("a").await.unwrap(), room.enter("b").await.unwrap()];
    let began = tokio::time::Instant::now();
    assert_eq!(room.enter("c").await.err(), Some(TooMany));
    assert_eq!(began.elapsed(), PATIENCE);
    drop(seats);
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_waiting_leaves_nothing_behind() {
    let room = room(2);
    let seats = [room.enter("a").await.unwrap(), room.enter("b").await.unwrap()];
    let gone = queue(&room, "c").await;
    let stays = queue(&room, "d").await;
    gone.abort();
    assert!(gone.await.is_err());
    assert_eq!(room.waiting(), 1);
    drop(seats);
    drop(stays.await.unwrap().unwrap());
    assert_eq!((taken(&room), room.waiting()), (0, 0));
}

/// A seat can be on its way when its request is given up.
#[tokio::test(start_paused = true)]
async fn a_seat_that_comes_too_late_comes_back() {
    let room = room(1);
    let seat = room.enter("a").await.unwrap();
    let Arrival::Queued(place, seat_rx) = room.arrive("b").unwrap() else { panic!("there is one seat") };
    drop(seat);
    assert_eq!(taken(&room), 1, "it is on its way to b");
    drop((place, seat_rx));
    assert_eq!((taken(&room), room.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn users_without_requests_are_forgotten() {
    let room = room(4);
    let kept = room.enter("kept").await.unwrap();
    for number in 0..10 * MAX_IDLE_USERS {
        drop(room.enter(&number.to_string()).await.unwrap());
    }
    let state = room.lock();
    assert!(state.users.len() <= MAX_IDLE_USERS && state.users.contains_key("kept"), "{}", state.users.len());
    drop(state);
    drop(kept);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_in_a_crowd() {
    let room = Arc::new(Room::new(8, Duration::from_millis(5)));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64_u64 {
        let room = room.clone();
        tasks.spawn(async move {
            let user = format!("user-{}", number % 7);
            let mut served = 0;
            for turn in 0..200 {
                if let Ok(seat) = room.enter(&user).await {
                    let taken = taken(&room);
                    assert!(taken <= 8, "{taken}");
                    if (turn + number) % 3 == 0 {
                        yield_now().await;
                    }
                    drop(seat);
                    served += 1;
                }
            }
            served
        });
    }
    let served: usize = tasks.join_all().await.into_iter().sum();
    assert!(served > 0);
    assert_eq!((taken(&room), room.waiting()), (0, 0));
}
