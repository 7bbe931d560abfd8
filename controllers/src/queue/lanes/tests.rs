//! Lanes: how workers are divided between namespaces.

use super::Lanes;

#[test]
fn a_namespace_takes_no_more_workers_than_it_leaves_free() {
    for (namespaces, each) in
        [(&["a"][..], 8), (&["a", "b"], 5), (&["a", "b", "c"], 4), (&["a", "b", "c", "d", "e", "f", "g"], 2)]
    {
        let mut lanes = Lanes::new(|(namespace, _): &(&str, i32)| namespace);
        lanes.shared_by(16);
        let all = || namespaces.iter().flat_map(|namespace| (0..100).map(move |number| (*namespace, number)));
        all().for_each(|piece| lanes.push(piece));
        let mut taken = Vec::from_iter(std::iter::from_fn(|| lanes.take()));
        for namespace in namespaces {
            let has = taken.iter().filter(|piece| piece.0 == *namespace).count();
            assert!((each..=each + 1).contains(&has), "{namespace} of {namespaces:?} has {has}");
        }
        lanes.push(("new", 0));
        assert_eq!(lanes.take(), Some(("new", 0)), "beside {namespaces:?}");
        taken.push(("new", 0));
        // However they go on, there is one for whoever comes.
        for round in 0..100 {
            lanes.end(&taken.swap_remove(round % taken.len()));
            taken.extend(std::iter::from_fn(|| lanes.take()));
            assert!(taken.len() < 16, "{taken:?}");
        }
        // Nothing is left of those who have nothing to do.
        while let Some(piece) = taken.pop() {
            lanes.end(&piece);
            taken.extend(std::iter::from_fn(|| lanes.take()));
        }
        assert!(lanes.is_empty() && lanes.lanes.is_empty() && lanes.free == 16);
    }
}
