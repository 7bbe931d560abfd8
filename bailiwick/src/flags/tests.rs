use super::*;
use clap::CommandFactory;

fn serve(arguments: &[&str]) -> Result<Box<ServeFlags>, String> {
    let cli = Cli::try_parse_from([&["bailiwick"], arguments].concat()).map_err(|error| error.to_string())?;
    match cli.command {
        None => Ok(cli.serve),
        Some(Command::Serve(flags)) => Ok(flags),
        Some(other) => panic!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_flag_of_a_server_is_an_environment_variable() {
    let mut command = Cli::command();
    command.build();
    // What is installed does not depend on who happens to print it.
    let of_servers = command.get_subcommands().filter(|command| !command.get_name().contains("install"));
    for command in std::iter::once(&command).chain(of_servers) {
        for flag in command.get_arguments().filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        {
            let long = flag.get_long().unwrap();
            let variable = format!("BAILIWICK_{}", long.to_uppercase().replace('-', "_"));
            assert_eq!(flag.get_env().unwrap().to_str().unwrap(), variable, "--{long}");
        }
    }
}

#[test]
fn a_service_has_a_namespace_and_a_name() {
    let service: ServiceName = "place/name".parse().unwrap();
    assert_eq!(service.hosts(), ["name.place", "name.place.svc", "name.place.svc.cluster.local"]);
    for text in ["", "name", "/name", "place/", "a/b/c"] {
        assert!(text.parse::<ServiceName>().is_err(), "{text}");
    }
    assert!(serve(&["--service=a/b", "--tls-cert-file=c", "--tls-private-key-file=k"]).is_err());
}

#[test]
fn serving_needs_no_flag_and_no_command() {
    for arguments in [&[][..], &["serve"]] {
        let flags = serve(arguments).unwrap();
        assert_eq!(flags.data.data_dir.to_str(), Some("bailiwick-data"));
        assert_eq!((flags.listen.bind_address.to_string(), flags.listen.secure_port), ("127.0.0.1".to_owned(), 6443));
        assert!(flags.etcd.etcd_servers.is_empty());
        assert_eq!(flags.time.request_timeout, Duration::from_secs(60));
        assert_eq!(flags.time.min_request_timeout, Duration::from_secs(1800));
    }
    assert_eq!(serve(&["--secure-port=0"]).unwrap().listen.secure_port, 0);
    assert_eq!(serve(&["serve", "--secure-port", "0", "-v4"]).unwrap().log.v, 4);
}

#[test]
fn lists_and_durations_are_read_as_go_reads_them() {
    let flags = serve(&["--etcd-servers=http://a:2379,http://b:2379", "--shutdown-delay-duration=1m30s"]).unwrap();
    assert_eq!(flags.etcd.etcd_servers, ["http://a:2379", "http://b:2379"]);
    assert_eq!(flags.time.shutdown_delay_duration, Duration::from_secs(90));
}

#[test]
fn what_cannot_be_is_refused() {
    for (arguments, expected) in [
        (&["--request-timeout=5"][..], "missing unit in duration \"5\"; write it like 90s"),
        (&["--request-timeout=0s"], "longer than 0"),
        (&["--shutdown-delay-duration=-1s"], "negative"),
        (&["--secure-port=70000"], "--secure-port"),
        (&["--tls-cert-file=a"], "--tls-private-key-file"),
        (&["--tls-private-key-file=a"], "--tls-cert-file"),
        (&["--etcd-cafile=a"], "--etcd-servers"),
        (&["--etcd-servers="], "--etcd-servers"),
        (&["--logging-format=xml"], "text, json"),
        (&["--secure-prt=1"], "--secure-port"),
        (&["--goaway-chance=0.03"], "can not be less than 0 or greater than 0.02"),
        (&["--goaway-chance=-1"], "--goaway-chance"),
        (&["--audit-log-path=-"], "--audit-policy-file"),
        (&["--audit-policy-file=x"], "--audit-log-path"),
        (&["--audit-policy-file=x", "--audit-log-path=-", "--audit-log-mode=x"], "batch, blocking, blocking-strict"),
        (&["--audit-log-format=legacy"], "json"),
        (&["--max-requests-inflight=-1"], "--max-requests-inflight"),
    ] {
        let error = serve(arguments).unwrap_err();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn whoever_names_a_cluster_stands_behind_it() {
    let mode = |arguments: &[&str]| serve(arguments).unwrap().mode.mode();
    assert_eq!(mode(&[]), Ok(Mode::Standalone));
    assert_eq!(mode(&["--mode=aggregated"]), Ok(Mode::Aggregated));
    for flag in ["--kubeconfig=x", "--authentication-kubeconfig=x", "--authorization-kubeconfig=x"] {
        assert_eq!(mode(&[flag]), Ok(Mode::Aggregated));
        assert_eq!(mode(&[flag, "--mode=aggregated"]), Ok(Mode::Aggregated));
        assert_eq!(mode(&[flag, "--mode=standalone"]), Err(NoCluster));
    }
}

#[test]
fn paths_are_open_as_the_flag_says() {
    let paths = |arguments: &[&str]| serve(arguments).unwrap().authorization.always_allow();
    let usual = paths(&[]).unwrap();
    assert!(usual.covers("/healthz") && usual.covers("/livez") && usual.covers("/readyz"));
    assert!(!usual.covers("/readyz/etcd") && !usual.covers("/"));
    let chosen = paths(&["--authorization-always-allow-paths=/healthz,/version*"]).unwrap();
    assert!(chosen.covers("/healthz") && chosen.covers("/version/x") && !chosen.covers("/livez"));
    let none = paths(&["--authorization-always-allow-paths="]).unwrap();
    assert!(!none.covers("/healthz") && !none.covers("/"));
    assert!(paths(&["--authorization-always-allow-paths=/a*b"]).is_err());
}

#[test]
fn controllers_are_chosen_by_name() {
    let runs = |arguments: &[&str], name| serve(arguments).unwrap().host.runs(name);
    assert!(runs(&[], ControllerName::Namespace));
    assert!(!runs(&["--controllers="], ControllerName::Namespace));
    assert!(!runs(&["--controllers=*,-namespace-controller"], ControllerName::Namespace));
    assert!(runs(&["--controllers=*,-namespace-controller"], ControllerName::GarbageCollector));
    assert!(runs(&["--controllers=namespace-controller"], ControllerName::Namespace));
    assert!(!runs(&["--controllers=namespace-controller"], ControllerName::ServiceAccount));
    assert!(serve(&["--controllers=namespaces"]).unwrap_err().contains("there is no such controller"));
}
