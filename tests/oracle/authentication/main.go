// Command authentication records whom Kubernetes takes the sender of a request for: the union of its request-header,
// certificate, bearer-token, WebSocket and anonymous authenticators, asked with certificates and headers of many kinds.
//
// The certificates are made anew for every record, so that no key is kept; what they lead to is the same each time.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"bailiwick.dev/oracle/record"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

var (
	begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

type row struct {
	Config      int    `json:"config"`
	Certificate string `json:"certificate"`
	Request     string `json:"request"`
	// Code is 200 for a user, 401 for a refusal, 0 for nobody.
	Code   int                 `json:"code"`
	Name   string              `json:"name,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
	// Left are the headers that whoever comes next still sees.
	Left []string `json:"left,omitempty"`
}

type config struct {
	AllowedNames []string `json:"allowedNames"`
	Anonymous    string   `json:"anonymous"`
	Path         string   `json:"path"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var serial = big.NewInt(1)

func make509(template x509.Certificate, parent *authority, isCA bool) authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	serial.Add(serial, big.NewInt(1))
	template.SerialNumber = new(big.Int).Set(serial)
	if template.NotBefore.IsZero() {
		template.NotBefore = begin
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = end
	}
	if isCA {
		template.IsCA, template.BasicConstraintsValid = true, true
		template.KeyUsage = x509.KeyUsageCertSign
	}
	self := authority{key, &template}
	if parent == nil {
		parent = &self
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, parent.certificate, &key.PublicKey, parent.key))
	return authority{key, must(x509.ParseCertificate(der))}
}

func leaf(parent *authority, name string, change func(*x509.Certificate), organizations ...string) *x509.Certificate {
	template := x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: organizations},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(&template)
	}
	return make509(template, parent, false).certificate
}

func ca(name string, parent *authority, change func(*x509.Certificate)) authority {
	template := x509.Certificate{Subject: pkix.Name{CommonName: name}}
	if change != nil {
		change(&template)
	}
	return make509(template, parent, true)
}

func expired(c *x509.Certificate)   { c.NotAfter = begin.AddDate(1, 0, 0) }
func future(c *x509.Certificate)    { c.NotBefore = end.AddDate(-1, 0, 0) }
func serverEKU(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
func noEKU(c *x509.Certificate)     { c.ExtKeyUsage = nil }
func anyEKU(c *x509.Certificate)    { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }
func uids(values ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		for _, value := range values {
			c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}, Value: value})
		}
	}
}

func tokens() authenticator.Token {
	return authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		switch token {
		case "good":
			return &authenticator.Response{User: &user.DefaultInfo{Name: "tina", UID: "u1", Groups: []string{"testers"}}}, true, nil
		case "org":
			return &authenticator.Response{User: &user.DefaultInfo{Name: "olga", Groups: []string{"org:acme:admins", "testers"}}}, true, nil
		case "marked":
			return &authenticator.Response{User: &user.DefaultInfo{Name: "mark", Groups: []string{"system:authenticated", "x"}}}, true, nil
		case "bad":
			return nil, false, errors.New("bad")
		}
		return nil, false, nil
	})
}

func main() {
	clients, proxies, others := ca("clients", nil, nil), ca("proxies", nil, nil), ca("others", nil, nil)
	namesake := ca("clients", nil, nil)
	proxyNamesake := ca("proxies", nil, nil)
	clientsBetween, proxiesBetween := ca("between clients", &clients, nil), ca("between proxies", &proxies, nil)
	clientsServerOnly := ca("server only", &clients, serverEKU)
	proxiesPathZero := ca("path zero", &proxies, func(c *x509.Certificate) { c.MaxPathLenZero = true })
	belowPathZero := ca("below path zero", &proxiesPathZero, nil)
	notAnAuthority := make509(x509.Certificate{Subject: pkix.Name{CommonName: "jane"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, &clients, false)
	proxyNotAnAuthority := make509(x509.Certificate{Subject: pkix.Name{CommonName: "front-proxy"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, &proxies, false)
	expiredBetween := ca("expired between", &clients, expired)

	type chain = []*x509.Certificate
	certificates := map[string]chain{
		"none":                        nil,
		"client":                      {leaf(&clients, "jane", nil, "devs", "ops")},
		"client in org group":         {leaf(&clients, "jane", nil, "org:acme:admins", "devs", "org:", "organization")},
		"client marked known":         {leaf(&clients, "jane", nil, "system:authenticated", "devs")},
		"client marked unknown":       {leaf(&clients, "jane", nil, "system:unauthenticated")},
		"client called anonymous":     {leaf(&clients, "system:anonymous", nil, "devs")},
		"client called like proxy":    {leaf(&clients, "front-proxy", nil)},
		"client master":               {leaf(&clients, "admin", nil, "system:masters")},
		"client with uid":             {leaf(&clients, "jane", uids("0815"))},
		"client with two uids":        {leaf(&clients, "jane", uids("0815", "4711"))},
		"client with empty uid":       {leaf(&clients, "jane", uids(""))},
		"client nameless":             {leaf(&clients, "", nil, "devs")},
		"client expired":              {leaf(&clients, "jane", expired)},
		"client not yet":              {leaf(&clients, "jane", future)},
		"client for servers":          {leaf(&clients, "jane", serverEKU)},
		"client for nothing":          {leaf(&clients, "jane", noEKU)},
		"client for anything":         {leaf(&clients, "jane", anyEKU)},
		"client between":              {leaf(&clientsBetween, "jane", nil), clientsBetween.certificate},
		"client between missing":      {leaf(&clientsBetween, "jane", nil)},
		"client between expired":      {leaf(&expiredBetween, "jane", nil), expiredBetween.certificate},
		"client between server only":  {leaf(&clientsServerOnly, "jane", nil), clientsServerOnly.certificate},
		"client with its root":        {leaf(&clients, "jane", nil), clients.certificate},
		"client with proxies' root":   {leaf(&clients, "front-proxy", nil), proxies.certificate},
		"client below a leaf":         {leaf(&notAnAuthority, "admin", nil, "system:masters"), notAnAuthority.certificate},
		"client of namesake":          {leaf(&namesake, "jane", nil), namesake.certificate},
		"client of others":            {leaf(&others, "jane", nil)},
		"client of others with root":  {leaf(&others, "jane", nil), others.certificate, clients.certificate},
		"self-signed client":          {leaf(nil, "jane", nil)},
		"self-signed proxy":           {leaf(nil, "front-proxy", nil)},
		"the clients' root":           {clients.certificate},
		"the proxies' root":           {proxies.certificate},
		"proxy":                       {leaf(&proxies, "front-proxy", nil)},
		"proxy with groups":           {leaf(&proxies, "front-proxy", nil, "system:masters")},
		"proxy with another name":     {leaf(&proxies, "mallory", nil)},
		"proxy with name in capitals": {leaf(&proxies, "Front-Proxy", nil)},
		"proxy nameless":              {leaf(&proxies, "", nil)},
		"proxy expired":               {leaf(&proxies, "front-proxy", expired)},
		"proxy not yet":               {leaf(&proxies, "front-proxy", future)},
		"proxy for servers":           {leaf(&proxies, "front-proxy", serverEKU)},
		"proxy for nothing":           {leaf(&proxies, "front-proxy", noEKU)},
		"proxy between":               {leaf(&proxiesBetween, "front-proxy", nil), proxiesBetween.certificate},
		"proxy between missing":       {leaf(&proxiesBetween, "front-proxy", nil)},
		"proxy too deep":              {leaf(&belowPathZero, "front-proxy", nil), belowPathZero.certificate, proxiesPathZero.certificate},
		"proxy below a leaf":          {leaf(&proxyNotAnAuthority, "front-proxy", nil), proxyNotAnAuthority.certificate},
		"proxy of namesake":           {leaf(&proxyNamesake, "front-proxy", nil), proxyNamesake.certificate},
		"proxy of clients between":    {leaf(&clientsBetween, "front-proxy", nil), clientsBetween.certificate, proxies.certificate},
		"proxy of others":             {leaf(&others, "front-proxy", nil), others.certificate},
	}

	named := http.Header{"X-Remote-User": {"ruth"}, "X-Remote-Group": {"a", "b"}, "X-Remote-Uid": {"r1"}, "X-Remote-Extra-Scopes": {"s1", "s2"}, "X-Remote-Extra-Example.dev%2fkey": {"k"}}
	bearer := func(value string) http.Header { return http.Header{"Authorization": {value}} }
	protocol := func(values ...string) http.Header {
		return http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"WebSocket"}, "Sec-Websocket-Protocol": values}
	}
	encoded := func(token string) string {
		return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	with := func(headers ...http.Header) http.Header {
		all := http.Header{}
		for _, header := range headers {
			for name, values := range header {
				all[name] = append(all[name], values...)
			}
		}
		return all
	}
	requests := map[string]http.Header{
		"plain":                    {},
		"named":                    named,
		"named twice":              {"X-Remote-User": {"ruth", "root"}, "X-Other-User": {"other"}},
		"named by the second":      {"X-Other-User": {"other"}, "X-Remote-Group": {""}},
		"named with nothing":       {"X-Remote-User": {""}, "X-Remote-Group": {"system:masters"}},
		"only groups":              {"X-Remote-Group": {"system:masters"}, "X-Remote-Uid": {"1"}, "X-Remote-Extra-A": {"b"}},
		"named anonymous":          {"X-Remote-User": {"system:anonymous"}, "X-Remote-Group": {"x"}},
		"named in org group":       {"X-Remote-User": {"ruth"}, "X-Remote-Group": {"org:acme:admins", "x"}},
		"named known":              {"X-Remote-User": {"ruth"}, "X-Remote-Group": {"system:authenticated"}},
		"named unknown":            {"X-Remote-User": {"ruth"}, "X-Remote-Group": {"system:unauthenticated"}},
		"named with odd extras":    {"X-Remote-User": {"ruth"}, "X-Remote-Extra-": {"e"}, "X-Remote-Extra-%zz": {"z"}, "X-Remote-Extra-%41b%2Fc": {"m"}, "X-Remote-Extra": {"not one"}, "X-Remote-Extra-A": {"", "b"}},
		"named in UTF-8":           {"X-Remote-User": {"jürgen"}, "X-Remote-Group": {"größe"}},
		"named with underscores":   {"X_remote_user": {"ruth"}, "X_Remote_Group": {"system:masters"}},
		"good token":               bearer("Bearer good"),
		"good token in lower case": bearer("bearer good"),
		"good token with more":     bearer("Bearer good more"),
		"bad token":                bearer("Bearer bad"),
		"unknown token":            bearer("Bearer strange"),
		"empty token":              bearer("Bearer "),
		"token behind spaces":      bearer("Bearer  good"),
		"token behind a tab":       bearer("Bearer\tgood"),
		"no scheme":                bearer("good"),
		"basic":                    bearer("Basic dTpw"),
		"org token":                bearer("Bearer org"),
		"marked token":             bearer("Bearer marked"),
		"two tokens":               bearer("Bearer good"),
		"named and good token":     with(named, bearer("Bearer good")),
		"named and bad token":      with(named, bearer("Bearer bad")),
		"socket good":              protocol("v4.channel.k8s.io, " + encoded("good")),
		"socket good twice":        protocol(encoded("good"), encoded("good"), "v4.channel.k8s.io"),
		"socket good alone":        protocol(encoded("good")),
		"socket good apart":        protocol(encoded("good"), "v4.channel.k8s.io", "v5.channel.k8s.io"),
		"socket bad":               protocol("v4.channel.k8s.io", encoded("bad")),
		"socket unknown":           protocol("v4.channel.k8s.io", encoded("strange")),
		"socket empty":             protocol("v4.channel.k8s.io", encoded("")),
		"socket malformed":         protocol("v4.channel.k8s.io", "base64url.bearer.authorization.k8s.io.=="),
		"socket no text":           protocol("v4.channel.k8s.io", encoded("\xff\xfe")),
		"socket without upgrade":   {"Sec-Websocket-Protocol": {"v4.channel.k8s.io", encoded("good")}},
		"socket and bad token":     with(protocol("v4.channel.k8s.io", encoded("good")), bearer("Bearer bad")),
		"socket bad and token":     with(protocol("v4.channel.k8s.io", encoded("bad")), bearer("Bearer good")),
	}
	requests["two tokens"] = http.Header{"Authorization": {"Bearer good", "Bearer bad"}}

	configs := []config{
		{[]string{"front-proxy"}, "everywhere", "/apis"},
		{nil, "off", "/apis"},
		{[]string{"front-proxy", "mallory"}, "health", "/healthz"},
		{[]string{"front-proxy"}, "health", "/healthz/ping"},
	}
	pool := func(a authority) x509.VerifyOptions {
		options := x509request.DefaultVerifyOptions()
		options.Roots = x509.NewCertPool()
		options.Roots.AddCert(a.certificate)
		return options
	}
	var rows []row
	for number, config := range configs {
		slice := func(values ...string) headerrequest.StaticStringSlice { return values }
		userHeaders, uidHeaders := slice("X-Remote-User", "X-Other-User"), slice("X-Remote-Uid")
		groupHeaders, extras := slice("X-Remote-Group"), slice("X-Remote-Extra-")
		front := headerrequest.NewDynamicVerifyOptionsSecure(x509request.StaticVerifierFn(pool(proxies)), slice(config.AllowedNames...), userHeaders, uidHeaders, groupHeaders, extras)
		auth := group.NewAuthenticatedGroupAdder(union.New(front, x509request.New(pool(clients), x509request.CommonNameUserConversion), bearertoken.New(tokens()), websocket.NewProtocolAuthenticator(tokens())))
		switch config.Anonymous {
		case "everywhere":
			auth = union.NewFailOnError(auth, anonymous.NewAuthenticator(nil))
		case "health":
			conditions := []apiserver.AnonymousAuthCondition{{Path: "/healthz"}, {Path: "/livez"}, {Path: "/readyz"}}
			auth = union.NewFailOnError(auth, anonymous.NewAuthenticator(conditions))
		}
		for certificate, chain := range certificates {
			for name, header := range requests {
				// The other configurations differ in little: a few requests show it.
				if number > 0 && !strings.HasPrefix(name, "named") && !slices.Contains([]string{"plain", "good token", "bad token"}, name) {
					continue
				}
				request := httptest.NewRequest("GET", "https://server"+config.Path, nil)
				request.Header = header.Clone()
				request.TLS = &tls.ConnectionState{PeerCertificates: chain}
				out := row{Config: number, Certificate: certificate, Request: name}
				found, ok, err := auth.AuthenticateRequest(request)
				switch {
				case err != nil:
					out.Code = 401
				case ok:
					out.Code = 200
					out.Name, out.UID, out.Groups = found.User.GetName(), found.User.GetUID(), found.User.GetGroups()
					out.Extra = found.User.GetExtra()
					// As WithAuthentication does.
					request.Header.Del("Authorization")
					headerrequest.ClearAuthenticationHeaders(request.Header, userHeaders, uidHeaders, groupHeaders, extras)
					for name, values := range request.Header {
						out.Left = append(out.Left, strings.ToLower(name)+": "+strings.Join(values, "|"))
					}
					slices.Sort(out.Left)
					// It names the certificate, which is a new one for every record.
					if id, ok := out.Extra[user.CredentialIDKey]; ok && strings.HasPrefix(id[0], "X509SHA256=") {
						out.Extra = map[string][]string{user.CredentialIDKey: {"X509SHA256="}}
					}
				}
				rows = append(rows, out)
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return strings.Compare(string(rune('0'+a.Config))+a.Certificate+"\x00"+a.Request, string(rune('0'+b.Config))+b.Certificate+"\x00"+b.Request)
	})
	chains := map[string][]string{}
	for name, chain := range certificates {
		chains[name] = []string{}
		for _, certificate := range chain {
			chains[name] = append(chains[name], base64.StdEncoding.EncodeToString(certificate.Raw))
		}
	}
	record.Write(map[string]any{
		"clients": base64.StdEncoding.EncodeToString(clients.certificate.Raw), "proxies": base64.StdEncoding.EncodeToString(proxies.certificate.Raw),
		"chains": chains, "requests": requests, "configs": configs,
	}, rows)
}
