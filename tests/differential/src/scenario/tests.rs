use super::*;

const TEXT: &str = "\
# A comment.

## first
POST ${claims}?a=b c -> 422 Invalid
Content-Type: application/json
    {\"a\":

      1}
> name = metadata.name
> token = items.0.token

## second
WATCH w /path -> 200
EVENTS w 3
GET /path -> ?
~ \"used\":{\"pods\":
";

#[test]
fn a_case_file_is_a_list_of_conversations() {
    let scenarios = Scenario::parse("create", TEXT).unwrap();
    let [first, second] = &scenarios[..] else { panic!("{scenarios:?}") };
    assert_eq!((first.path().as_str(), first.step_path(0).as_str()), ("create/first", "create/first/1"));
    let step = &first.steps[0];
    assert_eq!(step.line, 4);
    assert_eq!(step.action, Action::Send { method: "POST".to_owned(), path: "${claims}?a=b c".to_owned() });
    assert_eq!(step.expected, Some(Expected { code: 422, reason: Some("Invalid".to_owned()) }));
    assert_eq!(step.headers, [("Content-Type".to_owned(), "application/json".to_owned())]);
    assert_eq!(step.body, "{\"a\":\n  1}");
    assert_eq!(step.captures[1].path, ["items", "0", "token"]);
    let actions: Vec<String> = second.steps.iter().map(Step::title).collect();
    assert_eq!(actions, ["WATCH w /path", "EVENTS w 3", "GET /path"]);
    assert_eq!(second.steps[0].expected, Some(Expected { code: 200, reason: None }));
    assert_eq!(second.steps[2].expected, None);
    assert_eq!(second.steps[2].awaited, ["\"used\":{\"pods\":"]);
}

#[test]
fn what_a_case_file_cannot_say_is_told_with_its_line() {
    let check = |text: &str, line: usize, problem: CaseProblem| {
        let error = Scenario::parse("create", text).unwrap_err();
        assert_eq!(error.to_string(), format!("create:{line}: {problem}"), "{text}");
    };
    check("GET / -> 200\n", 1, CaseProblem::NoScenario);
    check("## a\n    body\n", 2, CaseProblem::NoStep);
    check("## a\nGET /\n", 2, CaseProblem::NoExpectation);
    check("## a\nGET / -> ok\n", 2, CaseProblem::NoExpectation);
    check("## a\nGET / -> 200\nnonsense\n", 3, CaseProblem::Unreadable);
    check("## a\nGET / -> 200\n> capture\n", 3, CaseProblem::Unreadable);
    check("## a\nEVENTS w some\n", 2, CaseProblem::Unreadable);
    check("## a\nGET / -> 200\n## a\n", 3, CaseProblem::SameName);
}
