use super::*;

fn measured(arguments: &str) -> Options {
    match parse(arguments.split_whitespace().map(str::to_owned)).unwrap() {
        Command::Measure(options) => options,
        Command::Help => panic!("{arguments} asks for help"),
    }
}

#[test]
fn all_operations_are_measured_unless_some_are_named() {
    assert_eq!(measured("").operations(), Operation::ALL);
    assert_eq!(measured("--only patch --only get").operations(), [Operation::Get, Operation::Patch]);
    for one in ["--only create", "--only delete"] {
        assert_eq!(measured(one).operations(), [Operation::Create, Operation::Delete], "{one}");
    }
}

#[test]
fn a_quick_run_is_a_smaller_one() {
    let (full, quick) = (measured(""), measured("--quick"));
    assert_eq!((full.objects, quick.objects), (5_000, 500));
    assert_eq!(full.objects / full.page, quick.objects / quick.page);
    assert!(quick.span < full.span && quick.rounds < full.rounds);
}

#[test]
fn our_server_is_built_given_or_left_out() {
    assert_eq!(measured("").ours, Ours::Build);
    assert_eq!(measured("--server a/b").ours, Ours::Program("a/b".into()));
    assert_eq!(measured("--peers-only").ours, Ours::Absent);
    assert_eq!(measured("--markdown").output, Output::TablesAndDocument);
}

#[test]
fn what_is_wrong_is_named() {
    for (arguments, named) in [("--fast", "--fast"), ("--only", "--only"), ("--only watch", "watch")] {
        let error = parse(arguments.split_whitespace().map(str::to_owned)).unwrap_err();
        assert!(error.contains(named), "{error}");
    }
}
