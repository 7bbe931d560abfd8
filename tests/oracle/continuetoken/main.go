// Command continuetoken records which continue tokens Kubernetes accepts, and what it reads from them.
package main

import (
	"encoding/base64"
	"encoding/json"
	"os"

	"k8s.io/apiserver/pkg/storage"
)

type row struct {
	Token string `json:"token"`
	Start string `json:"start,omitempty"`
	RV    int64  `json:"rv,omitempty"`
	Error string `json:"error,omitempty"`
	// Encoded is the token Kubernetes writes for what it read.
	Encoded string `json:"encoded,omitempty"`
}

func main() {
	raw := base64.RawURLEncoding.EncodeToString
	tokens := []string{"a", "!", "abc=", "YWJj", "YWJ", "YW Jj", "YWJj!", "e30", "e30=", "e31", "bnVsbA", "W10", "eyJ2IjoibWV0YS5rOHMuaW8vdjEi"}
	for _, text := range []string{
		`{"v":"meta.k8s.io/v1","rv":5,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"ns/a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-7,"start":"a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":0,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":""}`, `{"v":"meta.k8s.io/v1","rv":1}`, `{"v":"meta.k8s.io/v1","start":"a"}`,
		`{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`, `{"rv":1,"start":"a"}`, `{"v":"","rv":1,"start":"a"}`, `{}`, `null`, `[]`, `"x"`, `5`, `{`, ``, ` `, `{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000"}x`,
		`{"v":"meta.k8s.io/v1","rv":1,"start":"../a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a/../../b\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":".."}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"/a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":1,"start":"//a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a//b\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a/\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}`,
		`{"v":"meta.k8s.io/v1","rv":1,"start":"./a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a/.\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a/."}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"/"}`,
		`{"v":"meta.k8s.io/v1","rv":1,"start":"\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000b"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"é/日\u0000"}`, `{"v":"meta.k8s.io/v1","rv":9223372036854775808,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1.5,"start":"a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":"1","start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":5}`, `{"v":5,"rv":1,"start":"a"}`, `{"V":"meta.k8s.io/v1","RV":1,"Start":"a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000","more":[1]}`, `{"v":"x","v":"meta.k8s.io/v1","rv":1,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":null,"start":"a\u0000"}`,
		` { "v" : "meta.k8s.io/v1" , "rv" : 12 , "start" : "a.b-c/d\u0000" } `, `{"v":"meta.k8s.io/v1","rv":1,"start":"<a>&\u2028\u0000"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":"a\"\\\u0001\u0008\u000c\n\r\t\u007f\u0000"}`,
	} {
		tokens = append(tokens, raw([]byte(text)))
	}
	var rows []row
	for _, token := range tokens {
		out := row{Token: token}
		key, rv, err := storage.DecodeContinue(token, "/prefix/")
		if err != nil {
			out.Error = err.Error()
		} else {
			out.Start, out.RV = key[len("/prefix/"):], rv
			if out.Encoded, err = storage.EncodeContinue(key, "/prefix/", rv); err != nil {
				out.Encoded = ""
			}
		}
		rows = append(rows, out)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(rows)
}
