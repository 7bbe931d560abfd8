// Command authnconfig records what Kubernetes says about files of the kind AuthenticationConfiguration.
package main

import (
	"fmt"
	"strings"

	"bailiwick.dev/oracle/record"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
)

type row struct {
	Text string `json:"text"`
	// Decoding is set if it cannot be read, Error if it makes no sense.
	Decoding string `json:"decoding,omitempty"`
	Error    string `json:"error,omitempty"`
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"

// issuer is a good one, with one line replaced or added.
func issuer(changes ...string) string {
	lines := []string{
		"- issuer:", "    url: https://a.example", "    audiences: [x]",
		"  claimMappings:", "    username:", "      claim: sub", "      prefix: ''",
	}
	for i := 0; i < len(changes); i += 2 {
		found := false
		for j, line := range lines {
			if line == changes[i] {
				lines[j], found = changes[i+1], true
			}
		}
		if !found {
			panic(changes[i])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func main() {
	jwt := func(items ...string) string { return head + "jwt:\n" + strings.Join(items, "") }
	url, audiences, prefix := "    url: https://a.example", "    audiences: [x]", "      prefix: ''"
	texts := []string{
		"", " ", "x", "{}", "[]", head, head + "jwt: []\n", head + "jwt: null\n", strings.Replace(head, "/v1", "/v1beta1", 1), strings.Replace(head, "/v1", "/v1alpha1", 1), strings.Replace(head, "/v1", "/v2", 1),
		strings.Replace(head, "Authentication", "Authorization", 1), "apiVersion: apiserver.config.k8s.io/v1\n", "kind: AuthenticationConfiguration\n", head + "more: 1\n", head + "jwt: {}\n", head + "jwt: 5\n", head + "kind: AuthenticationConfiguration\n", head + "\tx: 1",
		jwt(issuer()), jwt(issuer(), issuer()), jwt(issuer(), issuer(url, "    url: https://b.example")), jwt(issuer(url, "    url: https://a.example\n    unknown: x")),
		head + "anonymous: {enabled: true}\n", head + "anonymous: {enabled: false}\n", head + "anonymous: {enabled: true, conditions: [{path: /healthz}]}\n", head + "anonymous: {enabled: false, conditions: [{path: /healthz}, {path: '/<a>&'}]}\n", head + "anonymous: {conditions: [{path: /healthz}]}\n", head + "anonymous: {enabled: true, conditions: [{paths: /healthz}]}\n",
	}
	for _, value := range []string{"''", "http://a.example", "a.example", "https://u:p@a.example", "https://u@a.example", "https://a.example?x=y", "https://a.example?", "'https://a.example#f'", "'https://u@a.example?x#f'", "'://x'", `"https://a\u0001.example"`, "HTTPS://a.example", "https://a.example/path/", "ftp://u:p@a.example?x", "https:a.example", "'https://'"} {
		texts = append(texts, jwt(issuer(url, "    url: "+value)), jwt(issuer(url, url+"\n    discoveryURL: "+value)))
	}
	texts = append(texts, jwt(issuer(url, url+"\n    discoveryURL: https://a.example/")), jwt(issuer(url, url+"\n    discoveryURL: https://d.example"), issuer(url, "    url: https://b.example\n    discoveryURL: https://d.example")))
	for _, value := range []string{"[]", "['']", "[x, x]", "[x, y]", "[x, y]\n    audienceMatchPolicy: MatchAny", "[x]\n    audienceMatchPolicy: MatchAny", "[x]\n    audienceMatchPolicy: MatchAll", "[x, y, x, '']\n    audienceMatchPolicy: matchany", "x", "null"} {
		texts = append(texts, jwt(issuer(audiences, "    audiences: "+value)))
	}
	for _, value := range []string{"certificateAuthority: rubbish", "egressSelectorType: cluster", "egressSelectorType: other"} {
		texts = append(texts, jwt(issuer(audiences, audiences+"\n    "+value)))
	}
	username := "      claim: sub"
	for _, value := range []string{"", "      expression: claims.sub", "      claim: sub\n      expression: claims.sub", "      claim: ''"} {
		texts = append(texts, jwt(issuer(username, value)), jwt(issuer(username, value, prefix, "")))
	}
	for _, value := range []string{"groups: {claim: g}", "groups: {claim: g, prefix: 'p:'}", "groups: {prefix: 'p:'}", "groups: {expression: claims.g, prefix: p}", "groups: {claim: g, expression: claims.g}", "uid: {claim: u}", "uid: {expression: claims.u}", "uid: {claim: u, expression: claims.u}", "uid: {prefix: x}",
		"extra: [{key: example.dev/a, valueExpression: claims.a}]", "extra: [{key: a, valueExpression: claims.a}]", "extra: [{key: '', valueExpression: ''}]", "extra: [{key: Example.dev/a, valueExpression: claims.a}]", "extra: [{key: example.dev/A}]", "extra: [{key: k8s.io/a, valueExpression: claims.a}]", "extra: [{key: x.kubernetes.io/a, valueExpression: claims.a}]", "extra: [{key: example.dev/a}, {key: example.dev/a}]", "extra: [{key: 'example.dev/a b'}]", "extra: [{key: /a}]"} {
		texts = append(texts, jwt(issuer(prefix, prefix+"\n    "+value)))
	}
	for _, value := range []string{"[{claim: hd, requiredValue: x}]", "[{claim: hd}]", "[{}]", "[{claim: hd, requiredValue: x}, {claim: hd, requiredValue: y}]", "[{claim: hd, message: m}]", "[{expression: 'true'}]", "[{expression: 'claims.a == 1', message: m}]", "[{claim: hd, expression: 'true'}]", "[{expression: claims.a, requiredValue: x}, {expression: claims.a}]", "[{requiredValue: x}]"} {
		texts = append(texts, jwt(issuer()+"  claimValidationRules: "+value+"\n"))
	}
	for _, value := range []string{"[{expression: '!user.username.startsWith(\"system:\")'}]", "[{}]", "[{message: m}]", "[{expression: 'true'}, {expression: 'true'}]"} {
		texts = append(texts, jwt(issuer()+"  userValidationRules: "+value+"\n"))
	}
	var many []string
	for i := range 65 {
		many = append(many, issuer(url, fmt.Sprintf("    url: https://a%d.example", i)))
	}
	texts = append(texts, jwt(many[:64]...), jwt(many...), jwt("- {}\n"), jwt("- issuer: {}\n  claimMappings: {}\n"), jwt("- null\n"))

	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	var rows []row
	for _, text := range texts {
		out := row{Text: text}
		object, err := runtime.Decode(codecs.UniversalDecoder(), []byte(text))
		if err != nil {
			out.Decoding = err.Error()
		} else if configuration, ok := object.(*apiserver.AuthenticationConfiguration); !ok {
			out.Decoding = fmt.Sprintf("expected AuthenticationConfiguration, got %T", object)
		} else if err := validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), configuration, nil).ToAggregate(); err != nil {
			out.Error = err.Error()
		}
		rows = append(rows, out)
	}
	record.Write(nil, rows)
}
