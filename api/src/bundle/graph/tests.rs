use proptest::prelude::*;

use super::*;

fn graph(resources: &[(&'static str, &[&'static str])]) -> Result<Graph, Cycle> {
    Graph::new(resources.iter().map(|(name, wanted)| (*name, wanted.to_vec())))
}

/// SMITH-4: a cycle is printed, and nothing of it that is only behind or before it.
#[test]
fn cycles_are_told() {
    let told = |resources: &[(&'static str, &[&'static str])]| graph(resources).unwrap_err().to_string();
    assert_eq!(told(&[("a", &["a"])]), "a -> a");
    assert_eq!(
        told(&[("z", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &[])]),
        "a -> b -> c -> a"
    );
}

#[test]
fn orders_follow_dependencies() {
    let found = graph(&[("c", &["b", "a", "b"]), ("b", &["a"]), ("a", &[]), ("x", &["gone"])]).unwrap();
    assert_eq!(found.order(), [2, 3, 1, 0]);
    assert_eq!(found.dependencies(0), [1, 2]);
    assert_eq!(graph(&[]).unwrap().order(), [0_usize; 0]);
}

proptest! {
    /// Whatever waits for what: an order in which nobody waits for a later one, or a cycle that is one.
    #[test]
    fn an_order_or_a_cycle(edges in proptest::collection::vec((0_usize..12, 0_usize..12), 0..30)) {
        let names: Vec<String> = (0..12).map(|number| format!("r{number}")).collect();
        let wanted = |resource: usize| edges.iter().filter(|(from, _)| *from == resource).map(|(_, to)| names[*to].as_str()).collect();
        match Graph::new(names.iter().enumerate().map(|(place, name)| (name.as_str(), wanted(place)))) {
            Ok(graph) => {
                let place = |resource: usize| graph.order().iter().position(|other| *other == resource).unwrap();
                prop_assert!(edges.iter().all(|(from, to)| place(*from) > place(*to)));
                prop_assert_eq!(graph.order().len(), 12);
            }
            Err(Cycle(cycle)) => {
                prop_assert_eq!(cycle.first(), cycle.last());
                prop_assert!(cycle.len() > 1);
                let number = |name: &String| names.iter().position(|other| other == name).unwrap();
                for pair in cycle.windows(2) {
                    prop_assert!(edges.contains(&(number(&pair[0]), number(&pair[1]))), "{:?}", pair);
                }
            }
        }
    }
}
