package main

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	jose "gopkg.in/go-jose/go-jose.v2"
)

// make writes the vectors.
func (v *vectors) make() {
	v.good()
	v.algorithms()
	v.headers()
	v.forms()
	v.times()
	v.audiences()
	v.issuers()
	v.names()
	v.groups()
	v.others()
}

func header(algorithm, kid string) string { return fmt.Sprintf(`{"alg":%q,"kid":%q}`, algorithm, kid) }

func (v *vectors) good() {
	for _, algorithm := range []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"} {
		v.add("good", 0, algorithm, token(header(algorithm, "rsa"), claims(), algorithm, v.keys["rsa"]))
	}
	v.add("good", 0, "ES256", token(header("ES256", "ec"), claims(), "ES256", v.keys["ec"]))
	v.add("good", 0, "ES384", token(header("ES384", "ec384"), claims(), "ES384", v.keys["ec384"]))
	v.add("good", 0, "ES512", token(header("ES512", "ec521"), claims(), "ES512", v.keys["ec521"]))
	v.add("good", 0, "second key", token(header("RS256", "rsa2"), claims(), "RS256", v.keys["rsa2"]))
	v.add("good", 0, "no kid, first key", token(`{"alg":"RS256"}`, claims(), "RS256", v.keys["rsa"]))
	v.add("good", 0, "no kid, second key", token(`{"alg":"RS256"}`, claims(), "RS256", v.keys["rsa2"]))
	v.add("good", 0, "no kid, ES256", token(`{"alg":"ES256"}`, claims(), "ES256", v.keys["ec"]))
	v.add("good", 0, "empty kid", token(header("RS256", ""), claims(), "RS256", v.keys["rsa2"]))
	v.add("good", 0, "bound key", token(header("RS256", "bound"), claims(), "RS256", v.keys["bound"]))
	v.add("good", 5, "only RS256", token(header("RS256", "rsa"), claims(), "RS256", v.keys["rsa"]))
	v.signed("good", 0, "spaces in JSON", " { \"alg\" : \"RS256\" , \"kid\" : \"rsa\" } ", strings.ReplaceAll(claims(), ",", " ,\n "))
	v.signed("good", 0, "escapes in JSON", `{"\u0061lg":"RS256","kid":"rs\u0061"}`, claims("s\\u0075b", `"jan\u0065"`, "sub", ""))
}

func (v *vectors) algorithms() {
	g := "algorithm"
	key := v.keys["rsa"].(*rsa.PrivateKey)
	secrets := map[string][]byte{
		"PEM": publicPEM(key), "PEM without newline": []byte(strings.TrimSpace(string(publicPEM(key)))), "DER": must(x509.MarshalPKIXPublicKey(&key.PublicKey)),
		"PKCS1": x509.MarshalPKCS1PublicKey(&key.PublicKey), "modulus": key.N.Bytes(), "JWK": must(json.Marshal(jose.JSONWebKey{Key: &key.PublicKey, KeyID: "rsa", Use: "sig"})),
		"nothing": {}, "kid": []byte("rsa"),
	}
	for _, name := range []string{"PEM", "PEM without newline", "DER", "PKCS1", "modulus", "JWK", "nothing", "kid"} {
		v.add(g, 0, "HS256 with public key as "+name, token(header("HS256", "rsa"), claims(), "HS256", secrets[name]))
		v.add(g, 0, "RS256 with HMAC by public key as "+name, token(goodHeader, claims(), "HS256", secrets[name]))
	}
	v.add(g, 0, "HS256 with published secret", token(header("HS256", "oct"), claims(), "HS256", v.keys["oct"]))
	v.add(g, 0, "RS256 with published secret", token(header("RS256", "oct"), claims(), "HS256", v.keys["oct"]))
	for _, name := range []string{"none", "None", "NONE", "nOnE", "", "null", "rs256", "RS256 ", " RS256", "RS256\\u0000", "RS1", "RS224", "HS384", "HS512", "EdDSA", "ES256K", "RSA-OAEP", "dir", "A128KW"} {
		head := fmt.Sprintf(`{"alg":"%s","kid":"rsa"}`, name)
		message := b64([]byte(head)) + "." + b64([]byte(claims()))
		v.add(g, 0, "alg "+name+" unsigned", message+".")
		v.add(g, 0, "alg "+name+" signed", message+"."+b64(sign("RS256", key, message)))
	}
	for _, value := range []string{"null", "5", "true", `["RS256"]`, `{"alg":"RS256"}`} {
		v.signed(g, 0, "alg is "+value, `{"alg":`+value+`,"kid":"rsa"}`, claims())
	}
	v.signed(g, 0, "no alg", `{"kid":"rsa"}`, claims())
	v.add(g, 0, "ES256 with RSA key", token(header("ES256", "rsa"), claims(), "RS256", key))
	v.add(g, 0, "RS256 with EC key", token(header("RS256", "ec"), claims(), "ES256", v.keys["ec"]))
	v.add(g, 0, "RS256 named, PS256 made", token(header("RS256", "rsa"), claims(), "PS256", key))
	v.add(g, 0, "PS256 named, RS256 made", token(header("PS256", "rsa"), claims(), "RS256", key))
	v.add(g, 0, "RS512 named, RS256 made", token(header("RS512", "rsa"), claims(), "RS256", key))
	v.add(g, 0, "ES384 with P-256 key", token(header("ES384", "ec"), claims(), "ES384", v.keys["ec"]))
	v.add(g, 0, "ES256 with P-384 key", token(header("ES256", "ec384"), claims(), "ES256", v.keys["ec384"]))
	v.add(g, 0, "bound key, other algorithm", token(header("RS512", "bound"), claims(), "RS512", v.keys["bound"]))
	v.add(g, 0, "key for encryption", token(header("RS256", "enc"), claims(), "RS256", v.keys["enc"]))
	v.add(g, 0, "key of 1024 bits", token(header("RS256", "small"), claims(), "RS256", v.keys["small"]))
	v.add(g, 0, "EdDSA", token(`{"alg":"EdDSA","kid":"ed"}`, claims(), "ED256", v.keys["ed"]))
	for _, algorithm := range []string{"RS384", "PS256"} {
		v.add(g, 5, algorithm+" where only RS256 may be", token(header(algorithm, "rsa"), claims(), algorithm, key))
	}
	v.add(g, 5, "ES256 where only RS256 may be", token(header("ES256", "ec"), claims(), "ES256", v.keys["ec"]))
	// ECDSA's signatures in DER, all zeros, and with the other of the two values of s.
	message := b64([]byte(header("ES256", "ec"))) + "." + b64([]byte(claims()))
	made := sign("ES256", v.keys["ec"], message)
	v.add(g, 0, "ES256 zeros", message+"."+b64(make([]byte, 64)))
	v.add(g, 0, "ES256 one byte short", message+"."+b64(made[:63]))
	v.add(g, 0, "ES256 one byte long", message+"."+b64(append(made[:64:64], 0)))
	v.add(g, 0, "ES256 r and s swapped", message+"."+b64(append(made[32:64:64], made[:32]...)))
	n := v.keys["ec"].(*ecdsa.PrivateKey).Params().N.FillBytes(make([]byte, 32))
	v.add(g, 0, "ES256 r and s are the order", message+"."+b64(append(n[:32:32], n...)))
	v.add(g, 0, "ES256 in DER", message+"."+b64(must(ecdsa.SignASN1(nil, v.keys["ec"].(*ecdsa.PrivateKey), make([]byte, 32)))))
	message = b64([]byte(goodHeader)) + "." + b64([]byte(claims()))
	v.add(g, 0, "RS256 zeros", message+"."+b64(make([]byte, 256)))
	v.add(g, 0, "RS256 one", message+"."+b64(append(make([]byte, 255), 1)))
	v.add(g, 0, "RS256 shortened", message+"."+b64(sign("RS256", key, message)[1:]))
	v.add(g, 0, "RS256 lengthened", message+"."+b64(append([]byte{0}, sign("RS256", key, message)...)))
	v.add(g, 0, "signature of another token", message+"."+strings.Split(token(goodHeader, claims("sub", `"joe"`), "RS256", key), ".")[2])
	v.add(g, 0, "claims of another token", b64([]byte(goodHeader))+"."+b64([]byte(claims("sub", `"joe"`)))+"."+b64(sign("RS256", key, message)))
}

func (v *vectors) headers() {
	g := "header"
	stranger := v.keys["stranger"].(*rsa.PrivateKey)
	jwk := string(must(json.Marshal(jose.JSONWebKey{Key: &stranger.PublicKey, KeyID: "stranger"})))
	for name, extra := range map[string]string{
		"jwk": `"jwk":` + jwk, "jku": `"jku":"https://evil.example/keys"`, "x5u": `"x5u":"https://evil.example/cert"`, "x5c": `"x5c":["` + base64.StdEncoding.EncodeToString(must(x509.MarshalPKIXPublicKey(&stranger.PublicKey))) + `"]`,
	} {
		v.add(g, 0, name+" of a stranger, by the stranger", token(`{"alg":"RS256",`+extra+`}`, claims(), "RS256", stranger))
		v.add(g, 0, name+" of a stranger with our kid, by the stranger", token(`{"alg":"RS256","kid":"rsa",`+extra+`}`, claims(), "RS256", stranger))
	}
	v.signed(g, 0, "jku beside our signature", `{"alg":"RS256","kid":"rsa","jku":"https://evil.example/keys"}`, claims())
	v.signed(g, 0, "jwk beside our signature", `{"alg":"RS256","kid":"rsa","jwk":`+jwk+`}`, claims())
	v.signed(g, 0, "jwk that is a text", `{"alg":"RS256","kid":"rsa","jwk":"x"}`, claims())
	for _, kid := range []string{"nobody", "RSA", "rsa ", " rsa", "rsa\\u0000", "../rsa", "../../etc/passwd", "/dev/null", "rsa/../rsa", "' OR 1=1 --", "rsa2", "ec", "oct", "https://evil.example/key", strings.Repeat("k", 1000), strings.Repeat("k", 3000)} {
		short := kid
		if len(short) > 30 {
			short = fmt.Sprintf("of %d bytes", len(kid))
		}
		v.signed(g, 0, "kid "+short, `{"alg":"RS256","kid":"`+kid+`"}`, claims())
	}
	for _, value := range []string{"null", "5", `["rsa"]`, `{"kid":"rsa"}`, "true"} {
		v.signed(g, 0, "kid is "+value, `{"alg":"RS256","kid":`+value+`}`, claims())
	}
	for _, value := range []string{`["exp"]`, `["b64"]`, `[]`, `null`, `"exp"`, `["http://example.dev/unknown"]`, `[5]`} {
		v.signed(g, 0, "crit is "+value, `{"alg":"RS256","kid":"rsa","crit":`+value+`}`, claims())
	}
	v.signed(g, 0, "b64 is true", `{"alg":"RS256","kid":"rsa","b64":true,"crit":["b64"]}`, claims())
	v.signed(g, 0, "b64 is false", `{"alg":"RS256","kid":"rsa","b64":false,"crit":["b64"]}`, claims())
	head := b64([]byte(`{"alg":"RS256","kid":"rsa","b64":false,"crit":["b64"]}`))
	v.add(g, 0, "b64 is false, and so it is", head+"."+b64([]byte(claims()))+"."+b64(sign("RS256", v.keys["rsa"], head+"."+claims())))
	v.add(g, 0, "b64 is false, payload bare", head+"."+claims()+"."+b64(sign("RS256", v.keys["rsa"], head+"."+claims())))
	for _, value := range []string{`"JWT"`, `"jwt"`, `"at+jwt"`, `"application/at+jwt"`, `"application/jwt"`, `"JOSE"`, `"JWE"`, `"logout+jwt"`, `"secevent+jwt"`, `"dpop+jwt"`, `""`, `null`, `5`, `["JWT"]`} {
		v.signed(g, 0, "typ is "+value, `{"alg":"RS256","kid":"rsa","typ":`+value+`}`, claims())
	}
	for _, extra := range []string{`"cty":"JWT"`, `"zip":"DEF"`, `"enc":"A128GCM"`, `"nonce":"n"`, `"x":{"y":[1,2,{"z":null}]}`, `"iss":"https://other.example"`} {
		v.signed(g, 0, "with "+extra, `{"alg":"RS256","kid":"rsa",`+extra+`}`, claims())
	}
	for name, head := range map[string]string{
		"alg twice, good last": `{"alg":"none","alg":"RS256","kid":"rsa"}`, "alg twice, bad last": `{"alg":"RS256","alg":"none","kid":"rsa"}`, "alg twice, equal": `{"alg":"RS256","alg":"RS256","kid":"rsa"}`,
		"kid twice": `{"alg":"RS256","kid":"nobody","kid":"rsa"}`, "unknown twice": `{"alg":"RS256","kid":"rsa","x":1,"x":2}`, "alg by escape twice": `{"alg":"none","\u0061lg":"RS256","kid":"rsa"}`,
		"alg in capitals": `{"ALG":"RS256","kid":"rsa"}`, "kid in capitals": `{"alg":"RS256","KID":"rsa"}`, "alg twice by capitals": `{"alg":"RS256","ALG":"none","kid":"rsa"}`,
		"empty": `{}`, "null": `null`, "list": `[{"alg":"RS256"}]`, "text": `"RS256"`, "number": `5`, "not JSON": `{alg:RS256}`, "cut": `{"alg":"RS256"`, "nothing": ``, "trailing": `{"alg":"RS256","kid":"rsa"}{}`, "trailing comma": `{"alg":"RS256","kid":"rsa",}`,
		"no UTF-8": "{\"alg\":\"RS256\",\"kid\":\"rsa\",\"x\":\"\xff\"}", "BOM": "\ufeff" + goodHeader, "comment": `{"alg":"RS256",/**/"kid":"rsa"}`, "zero byte": "{\"alg\":\"RS256\",\"kid\":\"rsa\"}\x00",
		"deep": `{"alg":"RS256","kid":"rsa","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		v.signed(g, 0, "header "+name, head, claims())
	}
}

func (v *vectors) forms() {
	g := "form"
	good := token(goodHeader, claims(), "RS256", v.keys["rsa"])
	parts := strings.Split(good, ".")
	for name, text := range map[string]string{
		"empty": "", "dots": "..", "one dot": ".", "many dots": strings.Repeat(".", 10000), "two parts": parts[0] + "." + parts[1], "four parts": good + ".x", "trailing dot": good + ".", "leading dot": "." + good,
		"five parts": good + "..", "no signature": parts[0] + "." + parts[1] + ".", "no payload": parts[0] + ".." + parts[2], "no header": "." + parts[1] + "." + parts[2], "twice": good + good,
		"space behind": good + " ", "space before": " " + good, "newline behind": good + "\n", "newline inside": parts[0] + "\n." + parts[1] + "." + parts[2], "space inside": parts[0] + " ." + parts[1] + "." + parts[2], "newline in signature": parts[0] + "." + parts[1] + "." + parts[2][:9] + "\n" + parts[2][9:],
		"padded header": parts[0] + "=." + parts[1] + "." + parts[2], "padded payload": parts[0] + "." + parts[1] + "=." + parts[2], "padded signature": good + "==", "standard alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(good),
		"bearer": "Bearer " + good, "quoted": `"` + good + `"`, "in capitals": strings.ToUpper(good), "zero behind": good + "\x00", "no base64": parts[0] + "." + parts[1] + ".!!!!", "signature of one letter": parts[0] + "." + parts[1] + ".A",
		"JSON flattened":               `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"JSON general":                 `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + parts[2] + `"}]}`,
		"JSON with unprotected header": `{"payload":"` + parts[1] + `","header":{"alg":"RS256","kid":"rsa"},"signature":"` + parts[2] + `"}`,
		"encrypted":                    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAA.AAAA.AAAA", "a UUID": "0b1e3ac4-8a0c-4d3c-9a3b-5a0a5b0d5f3e", "huge": good + strings.Repeat("A", 40000), "letters": strings.Repeat("a", 5000),
	} {
		v.add(g, 0, name, text)
	}
	// The unused bits of the last letter: the same bytes, written differently.
	for i, part := range []string{"header", "payload", "signature"} {
		payload := claims()
		head := goodHeader
		for len(b64([]byte(head)))%4 != 2 {
			head = strings.Replace(head, "{", "{ ", 1)
		}
		for len(b64([]byte(payload)))%4 != 2 {
			payload = strings.Replace(payload, "{", "{ ", 1)
		}
		odd := strings.Split(token(head, payload, "RS256", v.keys["rsa"]), ".")
		last := odd[i][len(odd[i])-1]
		alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		odd[i] = odd[i][:len(odd[i])-1] + string(alphabet[strings.IndexByte(alphabet, last)|1])
		v.add(g, 0, "unused bits of the "+part, strings.Join(odd, "."))
		if i < 2 {
			message := odd[0] + "." + odd[1]
			v.add(g, 0, "unused bits of the "+part+", signed so", message+"."+b64(sign("RS256", v.keys["rsa"], message)))
		}
	}
	for name, payload := range map[string]string{
		"list": `[` + claims() + `]`, "text": `"x"`, "null": `null`, "nothing": ``, "cut": claims()[:40], "trailing": claims() + claims(), "trailing comma": strings.Replace(claims(), "}", ",}", 1), "zero byte": claims() + "\x00",
		"no UTF-8": strings.Replace(claims(), "jane", "jane\xff", 1), "no UTF-8 elsewhere": claims("x", "\"\xff\""), "BOM": "\ufeff" + claims(), "lone surrogate": claims("sub", `"jane\ud800"`),
		"deep": claims("x", strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), "rather deep": claims("x", strings.Repeat("[", 90)+strings.Repeat("]", 90)), "wide": claims("x", `[`+strings.Repeat(`"a",`, 2000)+`"a"]`),
		"sub twice": strings.Replace(claims(), `"sub"`, `"sub":"root","sub"`, 1), "sub twice, equal": strings.Replace(claims(), `"sub"`, `"sub":"jane","sub"`, 1), "iss twice": strings.Replace(claims(), `"iss"`, `"iss":"https://other.example","iss"`, 1), "iss twice, ours first": `{"iss":"` + issuer + `",` + claims("iss", `"https://other.example"`)[1:],
		"exp twice": strings.Replace(claims(), `"exp"`, `"exp":1,"exp"`, 1), "exp twice, expired last": claims("x", `1,"exp":1`), "aud twice": strings.Replace(claims(), `"aud"`, `"aud":"other","aud"`, 1), "unknown twice": claims("x", `1,"x":2`), "twice further down": claims("x", `{"a":1,"a":2}`),
		"sub by escape twice": claims("\\u0073ub", `"root"`), "sub twice by capitals": claims("SUB", `"root"`), "iss in capitals": claims("iss", "", "ISS", `"`+issuer+`"`), "exp in capitals": claims("exp", "", "EXP", "4102444800"), "aud in capitals": claims("aud", "", "AUD", `"bailiwick"`), "sub in capitals": claims("sub", "", "SUB", `"jane"`),
	} {
		v.signed(g, 0, "payload "+name, goodHeader, payload)
	}
}

func (v *vectors) times() {
	g := "time"
	for _, value := range []string{"", "0", "1", "-1", "1000000000", "4102444800.5", "4.1024448e9", "1e9", "1e300", "-1e300", "1e400", "9223372036854775807", "9223372036854775808", "99999999999999999999999", `"4102444800"`, `"never"`, `""`, "null", "true", "false", "[]", "[4102444800]", "{}", `{"$numberLong":"4102444800"}`, "04102444800", "0xF4865700", "NaN", "Infinity", "4102444800000"} {
		v.signed(g, 0, "exp is "+value, goodHeader, claims("exp", value))
	}
	for _, name := range []string{"nbf", "iat"} {
		for _, value := range []string{"0", "1600000000", "1600000000.5", "4102444700", "1e300", `"1600000000"`, `"x"`, "null", "true", "[]", "{}", "-5"} {
			v.signed(g, 0, name+" is "+value, goodHeader, claims(name, value))
		}
	}
	v.signed(g, 0, "no iat", goodHeader, claims("iat", ""))
}

func (v *vectors) audiences() {
	g := "audience"
	for _, value := range []string{"", `""`, "null", "5", "true", "[]", "{}", `"other"`, `"Bailiwick"`, `"bailiwick "`, `"bailiwick,second"`, `"bailiwick second"`, `"second"`, `["bailiwick"]`, `["other","second"]`, `["other"]`, `["other",5,"bailiwick"]`, `[["bailiwick"]]`, `{"bailiwick":true}`, `["bailiwick",null]`, `[null]`, `"*"`, `["*"]`, `"bailiwi\u0063k"`} {
		v.signed(g, 0, "aud is "+value, goodHeader, claims("aud", value))
	}
	v.signed(g, 5, "single audience, in list", goodHeader, claims("aud", `["x","bailiwick"]`))
	v.signed(g, 5, "single audience, second", goodHeader, claims("aud", `"second"`))
	v.signed(g, 0, "azp of others", goodHeader, claims("azp", `"other"`))
}

func (v *vectors) issuers() {
	g := "issuer"
	for _, value := range []string{"", `""`, "null", "5", "[]", `["` + issuer + `"]`, `"` + issuer + `/"`, `"` + strings.ToUpper(issuer) + `"`, `"http://issuer.example"`, `"https://issuer.example.evil.example"`, `"https://evil.example/https://issuer.example"`, `"` + issuer + `\u0000"`, `" ` + issuer + `"`, `"https://issuer.example:443"`, `"https://issuer.example?x"`, `"https://issuer.example#x"`, `"accounts.google.com"`, `"issuer.example"`, `"https:\/\/issuer.example"`} {
		v.signed(g, 0, "iss is "+value, goodHeader, claims("iss", value))
	}
}

func (v *vectors) names() {
	g := "name"
	for _, value := range []string{"", `""`, "null", "5", "true", "[]", `["jane"]`, "{}", `"system:masters"`, `"system:admin"`, `"system:anonymous"`, `"system:serviceaccount:kube-system:default"`, `"System:admin"`, `" "`, `"jane doe"`, `"jürgen"`, `"a\nb"`, `"\u0000"`, `"org:acme"`, `"` + strings.Repeat("j", 2000) + `"`} {
		short := value
		if len(short) > 60 {
			short = "long"
		}
		v.signed(g, 1, "sub is "+short, goodHeader, claims("sub", value))
		v.signed(g, 0, "prefixed sub is "+short, goodHeader, claims("sub", value))
	}
	v.signed(g, 5, "prefix in system:", goodHeader, claims())
	for _, value := range []string{"", "true", "false", "null", `"true"`, "1", "[]"} {
		v.signed(g, 2, "email_verified is "+value, goodHeader, claims("email", `"jane@example.dev"`, "email_verified", value))
	}
	v.signed(g, 2, "no email", goodHeader, claims("email_verified", "true"))
	v.signed(g, 2, "email is empty", goodHeader, claims("email", `""`, "email_verified", "true"))
	v.signed(g, 2, "email is a list", goodHeader, claims("email", `["jane@example.dev"]`, "email_verified", "true"))
}

func (v *vectors) groups() {
	g := "groups"
	for _, value := range []string{`[]`, `["a","b"]`, `"a"`, `""`, `[""]`, "null", "5", "true", "{}", `["a",5]`, `["a",null]`, `[["a"]]`, `["system:masters"]`, `["system:masters","a"]`, `["system:authenticated"]`, `["system:unauthenticated"]`, `["org:acme:admins","a"]`, `["a","a"]`, `"a,b"`} {
		v.signed(g, 1, "groups is "+value, goodHeader, claims("groups", value))
		v.signed(g, 0, "prefixed groups is "+value, goodHeader, claims("groups", value))
	}
	v.signed(g, 5, "prefix in system:", goodHeader, claims("groups", `["x"]`))
	v.signed(g, 1, "_claim_names for groups", goodHeader, claims("_claim_names", `{"groups":"src1"}`, "_claim_sources", `{"src1":{"endpoint":"https://127.0.0.1:1/"}}`))
	v.signed(g, 1, "_claim_names for groups, and groups", goodHeader, claims("groups", `["a"]`, "_claim_names", `{"groups":"src1"}`, "_claim_sources", `{"src1":{"endpoint":"https://127.0.0.1:1/"}}`))
	v.signed(g, 1, "_claim_names without source", goodHeader, claims("_claim_names", `{"groups":"src1"}`))
	v.signed(g, 1, "_claim_names for something else", goodHeader, claims("_claim_names", `{"address":"src1"}`, "_claim_sources", `{"src1":{"endpoint":"https://127.0.0.1:1/"}}`))
	v.signed(g, 1, "_claim_names is a list", goodHeader, claims("_claim_names", `["groups"]`))
}

func (v *vectors) others() {
	g := "uid"
	for _, value := range []string{"", `""`, `"u-1"`, "null", "5", `["u"]`} {
		v.signed(g, 3, "uid is "+value, goodHeader, claims("uid", value))
	}
	g = "required"
	for _, value := range []string{"", `"example.dev"`, `"EXAMPLE.dev"`, `"evil.dev"`, `["example.dev"]`, "null", "true", `"example.dev "`} {
		v.signed(g, 4, "hd is "+value, goodHeader, claims("hd", value, "empty", `""`))
	}
	v.signed(g, 4, "empty is absent", goodHeader, claims("hd", `"example.dev"`))
	v.signed(g, 4, "empty is null", goodHeader, claims("hd", `"example.dev"`, "empty", "null"))
	v.signed(g, 4, "empty is not", goodHeader, claims("hd", `"example.dev"`, "empty", `"x"`))
	g = "jti"
	for _, value := range []string{`"id-1"`, `""`, "null", "5", `["x"]`} {
		v.signed(g, 1, "jti is "+value, goodHeader, claims("jti", value))
	}
}
