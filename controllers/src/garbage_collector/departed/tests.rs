use super::*;
use crate::served_kinds::GroupKind;

fn add(departed: &mut Departed, number: usize) {
    let (uid, name) = (number.to_string().into(), format!("object-{number}"));
    departed.add(uid, Place { kind: GroupKind::new("v1", "ConfigMap"), namespace: "a".to_owned(), name });
}

#[test]
fn who_went_first_is_forgotten_first() {
    let mut departed = Departed::default();
    for number in 0..MOST {
        add(&mut departed, number);
    }
    // Whoever is remembered takes no more room.
    add(&mut departed, 1);
    assert_eq!(departed.place_of("0").map(|place| &*place.name), Some("object-0"));
    add(&mut departed, MOST);
    assert_eq!(departed.place_of("0"), None);
    assert!(departed.place_of("1").is_some() && departed.place_of(&MOST.to_string()).is_some());
    assert_eq!((departed.places.len(), departed.order.len()), (MOST, MOST));
}

#[test]
fn who_is_taken_back_takes_no_room() {
    let mut departed = Departed::default();
    for number in [0, 1] {
        add(&mut departed, number);
    }
    departed.take_back("0");
    departed.take_back("unknown");
    assert_eq!(departed.place_of("0"), None);
    assert!(departed.place_of("1").is_some());
    assert_eq!((departed.places.len(), departed.order.len()), (1, 1));
}
