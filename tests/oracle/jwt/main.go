// Command jwt records which tokens Kubernetes' OIDC authenticator accepts, and whom it takes their bearers for.
//
// The keys are made anew for every record, so that none is kept; what the tokens lead to is the same each time.
package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bailiwick.dev/oracle/record"
	jose "gopkg.in/go-jose/go-jose.v2"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/utils/ptr"
)

const issuer = "https://issuer.example"

// keySet is go-oidc's remote key set without the remote part.
type keySet struct{ keys []jose.JSONWebKey }

func (k keySet) VerifySignature(_ context.Context, token string) ([]byte, error) {
	jws, err := jose.ParseSigned(token)
	if err != nil {
		return nil, fmt.Errorf("oidc: malformed jwt: %v", err)
	}
	id := ""
	for _, signature := range jws.Signatures {
		id = signature.Header.KeyID
		break
	}
	for _, key := range k.keys {
		if id == "" || key.KeyID == id {
			if payload, err := jws.Verify(&key); err == nil {
				return payload, nil
			}
		}
	}
	return nil, errors.New("failed to verify id token signature")
}

type row struct {
	Group  string              `json:"group"`
	Case   string              `json:"case"`
	Config int                 `json:"config"`
	Token  string              `json:"token"`
	Error  string              `json:"error,omitempty"`
	Name   string              `json:"name,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
	OK     bool                `json:"ok,omitempty"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

var b64 = base64.RawURLEncoding.EncodeToString

var hashes = map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}

// sign signs a message the way an algorithm has it, whatever the key is called.
func sign(algorithm string, key any, message string) []byte {
	hash := hashes[algorithm[2:]]
	digest := func() []byte {
		h := hash.New()
		h.Write([]byte(message))
		return h.Sum(nil)
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		if strings.HasPrefix(algorithm, "PS") {
			return must(rsa.SignPSS(rand.Reader, key, hash, digest(), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
		}
		return must(rsa.SignPKCS1v15(rand.Reader, key, hash, digest()))
	case *ecdsa.PrivateKey:
		r, s := must2(ecdsa.Sign(rand.Reader, key, digest()))
		size := (key.Curve.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case ed25519.PrivateKey:
		return ed25519.Sign(key, []byte(message))
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(message))
		return mac.Sum(nil)
	}
	panic("no such key")
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func token(header, payload, algorithm string, key any) string {
	message := b64([]byte(header)) + "." + b64([]byte(payload))
	return message + "." + b64(sign(algorithm, key, message))
}

type vectors struct {
	rows []row
	keys map[string]any
}

func (v *vectors) add(group string, config int, name, text string) {
	v.rows = append(v.rows, row{Group: group, Case: name, Config: config, Token: text})
}

// signed adds a well-signed token with this header and these claims.
func (v *vectors) signed(group string, config int, name, header, payload string) {
	v.add(group, config, name, token(header, payload, "RS256", v.keys["rsa"]))
}

const goodHeader = `{"alg":"RS256","kid":"rsa"}`

// claims are the usual ones, some of them replaced, removed by an empty text, or added.
func claims(changes ...string) string {
	names := []string{"iss", "aud", "sub", "exp", "iat"}
	values := map[string]string{"iss": `"` + issuer + `"`, "aud": `"bailiwick"`, "sub": `"jane"`, "exp": "4102444800", "iat": "1600000000"}
	for i := 0; i < len(changes); i += 2 {
		if _, known := values[changes[i]]; !known {
			names = append(names, changes[i])
		}
		values[changes[i]] = changes[i+1]
	}
	var parts []string
	for _, name := range names {
		if values[name] != "" {
			parts = append(parts, `"`+name+`":`+values[name])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func main() {
	v := &vectors{keys: map[string]any{
		"rsa": must(rsa.GenerateKey(rand.Reader, 2048)), "rsa2": must(rsa.GenerateKey(rand.Reader, 2048)), "enc": must(rsa.GenerateKey(rand.Reader, 2048)),
		"bound": must(rsa.GenerateKey(rand.Reader, 2048)), "stranger": must(rsa.GenerateKey(rand.Reader, 2048)), "small": must(rsa.GenerateKey(rand.Reader, 1024)),
		"ec": must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), "ec384": must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), "ec521": must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)),
		"ecstranger": must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), "oct": []byte("0123456789abcdef0123456789abcdef"),
	}}
	_, ed := must2(ed25519.GenerateKey(rand.Reader))
	v.keys["ed"] = ed
	var set jose.JSONWebKeySet
	publish := func(id, use, algorithm string) {
		var public any
		switch key := v.keys[id].(type) {
		case *rsa.PrivateKey:
			public = &key.PublicKey
		case *ecdsa.PrivateKey:
			public = &key.PublicKey
		case ed25519.PrivateKey:
			public = key.Public()
		case []byte:
			public = key
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: id, Use: use, Algorithm: algorithm})
	}
	publish("rsa", "sig", "")
	publish("rsa2", "", "")
	publish("enc", "enc", "")
	publish("bound", "sig", "RS256")
	publish("small", "sig", "")
	publish("ec", "sig", "ES256")
	publish("ec384", "sig", "")
	publish("ec521", "sig", "")
	publish("ed", "sig", "")
	publish("oct", "sig", "HS256")

	prefixed := func(claim, prefix string) apiserver.PrefixedClaimOrExpression {
		return apiserver.PrefixedClaimOrExpression{Claim: claim, Prefix: ptr.To(prefix)}
	}
	base := apiserver.Issuer{URL: issuer, Audiences: []string{"bailiwick", "second"}, AudienceMatchPolicy: apiserver.AudienceMatchPolicyMatchAny}
	all := oidc.AllValidSigningAlgorithms()
	type config struct {
		authenticator apiserver.JWTAuthenticator
		algorithms    []string
	}
	configs := []config{
		{apiserver.JWTAuthenticator{Issuer: base, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("sub", "oidc:"), Groups: prefixed("groups", "oidc:")}}, all},
		{apiserver.JWTAuthenticator{Issuer: base, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("sub", ""), Groups: prefixed("groups", "")}}, all},
		{apiserver.JWTAuthenticator{Issuer: base, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("email", "")}}, all},
		{apiserver.JWTAuthenticator{Issuer: base, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("sub", ""), UID: apiserver.ClaimOrExpression{Claim: "uid"}}}, all},
		{apiserver.JWTAuthenticator{Issuer: base, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("sub", "")}, ClaimValidationRules: []apiserver.ClaimValidationRule{{Claim: "hd", RequiredValue: "example.dev"}, {Claim: "empty"}}}, all},
		{apiserver.JWTAuthenticator{Issuer: apiserver.Issuer{URL: issuer, Audiences: []string{"bailiwick"}}, ClaimMappings: apiserver.ClaimMappings{Username: prefixed("sub", "system:x:"), Groups: prefixed("groups", "system:")}}, []string{"RS256"}},
	}
	v.make()
	slices.SortStableFunc(v.rows, func(a, b row) int { return strings.Compare(a.Group+"\x00"+a.Case, b.Group+"\x00"+b.Case) })
	for i := range v.rows {
		out := &v.rows[i]
		config := configs[out.Config]
		authenticator := must(oidc.New(context.Background(), oidc.Options{JWTAuthenticator: config.authenticator, KeySet: keySet{set.Keys}, SupportedSigningAlgs: config.algorithms}))
		response, ok, err := authenticator.AuthenticateToken(context.Background(), out.Token)
		if err != nil {
			out.Error = "refused"
		} else if ok {
			out.OK, out.Name, out.UID = true, response.User.GetName(), response.User.GetUID()
			out.Groups, out.Extra = response.User.GetGroups(), response.User.GetExtra()
		}
	}
	published := must(json.Marshal(set))
	record.Write(map[string]any{"keys": json.RawMessage(published)}, v.rows)
}

func publicPEM(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(&key.PublicKey))})
}
