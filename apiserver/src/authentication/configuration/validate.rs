//! Whether the fields of a configuration make sense, in the order and the words of Kubernetes. Where it would compile an
//! expression, this says that there are none yet.

use std::collections::BTreeSet;

use bailiwick_machinery::{FieldError, FieldErrors, FieldPath, name};
use serde::Serialize;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::{
    AnonymousCondition, AuthenticationConfiguration, ClaimMapping, ClaimMappings, ClaimValidationRule, ExtraMapping,
    Issuer, PrefixedClaim, UserValidationRule, url,
};

const MAX_ISSUERS: usize = 64;
const MATCH_ANY: &str = "MatchAny";
const NO_EXPRESSIONS: &str = "CEL expressions are not supported by this server yet: use a claim instead";

/// A condition as Kubernetes shows it in errors.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ShownCondition<'c> {
    path: &'c str,
}

/// Everything that is wrong.
pub(super) fn validate(configuration: &AuthenticationConfiguration, disallowed_issuers: &[String]) -> FieldErrors {
    let disallowed: BTreeSet<&str> = disallowed_issuers.iter().map(String::as_str).collect();
    let mut errors = FieldErrors::default();
    let root = FieldPath::new("jwt");
    if configuration.jwt.len() > MAX_ISSUERS {
        errors.push(FieldError::too_many(root, configuration.jwt.len(), MAX_ISSUERS));
        return errors;
    }
    let (mut issuers, mut discovery_urls) = (BTreeSet::new(), BTreeSet::new());
    for (index, jwt) in configuration.jwt.iter().enumerate() {
        let path = root.index(index);
        let issuer = path.child("issuer");
        validate_issuer(&jwt.issuer, &disallowed, &issuer, &mut errors);
        validate_rules(&jwt.claim_validation_rules, &path.child("claimValidationRules"), &mut errors);
        validate_mappings(&jwt.claim_mappings, &path.child("claimMappings"), &mut errors);
        validate_user_rules(&jwt.user_validation_rules, &path.child("userValidationRules"), &mut errors);
        if !issuers.insert(&jwt.issuer.url) {
            errors.push(FieldError::duplicate(issuer.child("url"), jwt.issuer.url.as_str()));
        }
        if !jwt.issuer.discovery_url.is_empty() && !discovery_urls.insert(&jwt.issuer.discovery_url) {
            errors.push(FieldError::duplicate(issuer.child("discoveryURL"), jwt.issuer.discovery_url.as_str()));
        }
    }
    if let Some(anonymous) = &configuration.anonymous
        && !anonymous.enabled
        && !anonymous.conditions.is_empty()
    {
        let shown: Vec<_> =
            anonymous.conditions.iter().map(|AnonymousCondition { path }| ShownCondition { path }).collect();
        let path = FieldPath::new("anonymous").child("conditions");
        errors.push(FieldError::invalid_json(
            path,
            &shown,
            "enabled should be set to true when conditions are defined",
        ));
    }
    errors
}

fn validate_issuer(issuer: &Issuer, disallowed: &BTreeSet<&str>, path: &FieldPath, errors: &mut FieldErrors) {
    if issuer.url.is_empty() {
        errors.push(FieldError::required(path.child("url"), ""));
    } else {
        if disallowed.contains(issuer.url.as_str()) {
            let all: Vec<&str> = disallowed.iter().copied().collect();
            let problem = format!("URL must not overlap with disallowed issuers: [{}]", all.join(" "));
            errors.push(FieldError::invalid(path.child("url"), issuer.url.as_str(), problem));
        }
        validate_url(&issuer.url, &path.child("url"), errors);
    }
    if !issuer.discovery_url.is_empty() {
        let (url, discovery) = (issuer.url.trim_end_matches('/'), issuer.discovery_url.trim_end_matches('/'));
        if !issuer.url.is_empty() && url == discovery {
            let problem = "discoveryURL must be different from URL";
            errors.push(FieldError::invalid(path.child("discoveryURL"), issuer.discovery_url.as_str(), problem));
        }
        validate_url(&issuer.discovery_url, &path.child("discoveryURL"), errors);
    }
    validate_audiences(issuer, path, errors);
    let authority = issuer.certificate_authority.as_bytes();
    if !authority.is_empty() && !CertificateDer::pem_slice_iter(authority).any(|certificate| certificate.is_ok()) {
        let problem = "data does not contain any valid RSA or ECDSA certificates";
        errors.push(FieldError::invalid(path.child("certificateAuthority"), "<omitted>", problem));
    }
    match issuer.egress_selector_type.as_str() {
        "" => {}
        known @ ("controlplane" | "cluster") => {
            let problem = "egress selection is not supported by this server: leave it out";
            errors.push(FieldError::invalid(path.child("egressSelectorType"), known, problem));
        }
        other => {
            let problem = "egress selector must be either controlplane or cluster";
            errors.push(FieldError::invalid(path.child("egressSelectorType"), other, problem));
        }
    }
}

fn validate_url(url: &str, path: &FieldPath, errors: &mut FieldErrors) {
    errors.extend(url::problems(url).into_iter().map(|problem| FieldError::invalid(path.clone(), url, problem)));
}

fn validate_audiences(issuer: &Issuer, path: &FieldPath, errors: &mut FieldErrors) {
    let (field, policy) = (path.child("audiences"), issuer.audience_match_policy.as_str());
    if issuer.audiences.is_empty() {
        errors.push(FieldError::required(field.clone(), format!("at least one {field} is required")));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, audience) in issuer.audiences.iter().enumerate() {
        if audience.is_empty() {
            errors.push(FieldError::required(field.index(index), ""));
        }
        if !seen.insert(audience) {
            errors.push(FieldError::duplicate(field.index(index), audience.as_str()));
        }
    }
    let problem = match issuer.audiences.len() {
        1 if !policy.is_empty() && policy != MATCH_ANY => {
            "audienceMatchPolicy must be empty or MatchAny for single audience"
        }
        2.. if policy != MATCH_ANY => "audienceMatchPolicy must be MatchAny for multiple audiences",
        _ => return,
    };
    errors.push(FieldError::invalid(path.child("audienceMatchPolicy"), policy, problem));
}

fn validate_rules(rules: &[ClaimValidationRule], path: &FieldPath, errors: &mut FieldErrors) {
    let (mut claims, mut expressions) = (BTreeSet::new(), BTreeSet::new());
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        match (rule.claim.as_str(), rule.expression.as_str()) {
            ("", "") => errors.push(FieldError::required(path, "claim or expression is required")),
            (claim, "") => {
                if !rule.message.is_empty() {
                    let problem = "may not be specified when claim is set";
                    errors.push(FieldError::invalid(path.child("message"), rule.message.as_str(), problem));
                }
                if !claims.insert(claim) {
                    errors.push(FieldError::duplicate(path.child("claim"), claim));
                }
            }
            ("", expression) => {
                if !rule.required_value.is_empty() {
                    let problem = "may not be specified when expression is set";
                    errors.push(FieldError::invalid(
                        path.child("requiredValue"),
                        rule.required_value.as_str(),
                        problem,
                    ));
                }
                if expressions.insert(expression) {
                    errors.push(FieldError::invalid(path.child("expression"), expression, NO_EXPRESSIONS));
                } else {
                    errors.push(FieldError::duplicate(path.child("expression"), expression));
                }
            }
            (claim, _) => {
                errors.push(FieldError::invalid(path, claim, "claim and expression can't both be set"));
            }
        }
    }
}

fn validate_mappings(mappings: &ClaimMappings, path: &FieldPath, errors: &mut FieldErrors) {
    let username = path.child("username");
    if mappings.username.claim.is_empty() && mappings.username.expression.is_empty() {
        errors.push(FieldError::required(username, "claim or expression is required"));
    } else {
        validate_prefixed(&mappings.username, &username, errors);
    }
    validate_prefixed(&mappings.groups, &path.child("groups"), errors);
    let ClaimMapping { claim, expression } = &mappings.uid;
    if !expression.is_empty() {
        let uid = path.child("uid");
        errors.push(match claim.as_str() {
            "" => FieldError::invalid(uid.child("expression"), expression.as_str(), NO_EXPRESSIONS),
            _ => FieldError::invalid(uid, "", "claim and expression can't both be set"),
        });
    }
    let mut keys = BTreeSet::new();
    for (index, mapping) in mappings.extra.iter().enumerate() {
        validate_extra(mapping, &mut keys, &path.child("extra").index(index), errors);
    }
}

fn validate_prefixed(mapping: &PrefixedClaim, path: &FieldPath, errors: &mut FieldErrors) {
    match (mapping.claim.as_str(), mapping.expression.as_str()) {
        ("", "") => {}
        (_, "") if mapping.prefix.is_none() => {
            let problem = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
            errors.push(FieldError::required(path.child("prefix"), problem));
        }
        (_, "") => {}
        ("", expression) => {
            if let Some(prefix) = &mapping.prefix {
                let problem = "may not be specified when expression is set";
                errors.push(FieldError::invalid(path.child("prefix"), prefix.as_str(), problem));
            }
            errors.push(FieldError::invalid(path.child("expression"), expression, NO_EXPRESSIONS));
        }
        _ => errors.push(FieldError::invalid(path.clone(), "", "claim and expression can't both be set")),
    }
}

fn validate_extra<'m>(
    mapping: &'m ExtraMapping,
    keys: &mut BTreeSet<&'m str>,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    let (field, key) = (path.child("key"), mapping.key.as_str());
    errors.extend(domain_prefixed_path(key, &field));
    if key != key.to_lowercase() {
        errors.push(FieldError::invalid(field.clone(), key, "must be lowercase"));
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_in = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    if is_in("kubernetes.io") || is_in("k8s.io") {
        let problem = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
        errors.push(FieldError::invalid(field.clone(), key, problem));
    }
    if !keys.insert(key) {
        errors.push(FieldError::duplicate(field, key));
        return;
    }
    let expression = path.child("valueExpression");
    errors.push(match mapping.value_expression.as_str() {
        "" => FieldError::required(expression, ""),
        given => FieldError::invalid(expression, given, NO_EXPRESSIONS),
    });
}

/// A key like `example.dev/a/b`.
fn domain_prefixed_path(key: &str, path: &FieldPath) -> Vec<FieldError> {
    if key.is_empty() {
        return vec![FieldError::required(path.clone(), "")];
    }
    let Some((host, rest)) = key.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty()) else {
        let problem = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(path.clone(), key, problem)];
    };
    let problems = name::dns1123_subdomain(host);
    let mut errors: Vec<_> =
        problems.into_iter().map(|problem| FieldError::invalid(path.clone(), host, problem)).collect();
    if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)) {
        let problem = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(path.clone(), rest, problem));
    }
    errors
}

fn validate_user_rules(rules: &[UserValidationRule], path: &FieldPath, errors: &mut FieldErrors) {
    let mut expressions = BTreeSet::new();
    for (index, rule) in rules.iter().enumerate() {
        let (path, expression) = (path.index(index).child("expression"), rule.expression.as_str());
        errors.push(if expression.is_empty() {
            FieldError::required(path, "")
        } else if expressions.insert(expression) {
            FieldError::invalid(path, expression, NO_EXPRESSIONS)
        } else {
            FieldError::duplicate(path, expression)
        });
    }
}
