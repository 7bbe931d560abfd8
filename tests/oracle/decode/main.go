// Command decode records what sigs.k8s.io/json and sigs.k8s.io/yaml make of request bodies.
package main

import (
	"fmt"
	"math/rand"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"bailiwick.dev/oracle/internal/nasty"
	"bailiwick.dev/oracle/internal/record"
)

// body is [input, value or "", error or "", strict errors].
func fromJSON(in []byte) any {
	var v any
	strict, err := kjson.UnmarshalStrict(in, &v)
	return body(in, v, strict, err)
}

func fromYAML(in []byte) any {
	converted, err := yaml.YAMLToJSON(in)
	if err != nil {
		return body(in, nil, nil, err)
	}
	var v any
	var strict []error
	if _, err := yaml.YAMLToJSONStrict(in); err != nil {
		strict = append(strict, err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(converted, &v); err != nil {
		return body(in, nil, nil, err)
	}
	return body(in, v, strict, nil)
}

func body(in []byte, v any, strict []error, err error) any {
	if err != nil {
		return []any{record.Bytes(in), "", err.Error(), []string{}}
	}
	texts := []string{}
	for _, e := range strict {
		texts = append(texts, e.Error())
	}
	return []any{record.Bytes(in), record.Canon(v), "", texts}
}

var words = []string{"a", "b", "1", "yes", "'x'", "\"y\"", "*x", "&x", "!!str", "<<", "-", ":", ": ", "- ", "? ", ", ", "[", "]", "{", "}", "\n", "\n  ", "\n    ", "\n- ", "\n  - ", "a: ", "b: ", "#c", " ", "|\n", ">-\n", "---\n", "null", "1.5", "0x1", "\"", "'", "é", "\t", "a: {b: 1}", "- a", "x: &x {a: 1}\n", "~"}

func mutate(r *rand.Rand, s string, alphabet string) string {
	b := []byte(s)
	for n := 1 + r.Intn(3); n > 0; n-- {
		i := r.Intn(len(b) + 1)
		c := alphabet[r.Intn(len(alphabet))]
		switch k := r.Intn(4); {
		case k == 0 && i < len(b):
			b[i] = c
		case k == 1 && i < len(b):
			b = append(b[:i], b[i+1:]...)
		case k == 2 && i < len(b):
			j := i + r.Intn(len(b)-i)
			b = append(b[:j:j], b[i:]...)
		default:
			b = append(b[:i:i], append([]byte{c}, b[i:]...)...)
		}
	}
	if len(b) > 200 {
		b = b[:200]
	}
	return string(b)
}

func randomJSON(r *rand.Rand, depth int) string {
	switch k := r.Intn(8); {
	case k < 2 && depth > 0:
		var parts []string
		for n := r.Intn(4); n > 0; n-- {
			parts = append(parts, fmt.Sprintf("%q:%s", []string{"a", "b", "c", "a b", "é"}[r.Intn(5)], randomJSON(r, depth-1)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case k < 4 && depth > 0:
		var parts []string
		for n := r.Intn(4); n > 0; n-- {
			parts = append(parts, randomJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case k == 4:
		return []string{"0", "-1", "1.5", "1e3", "12345678901", "-0.25", "1e-7", "9223372036854775808", "1E400"}[r.Intn(9)]
	case k == 5:
		return []string{"true", "false", "null"}[r.Intn(3)]
	default:
		return []string{`""`, `"a"`, `"\n"`, `"\u00e9"`, `"é"`, `"\ud83d\ude00"`, `"\ud83d"`, `"<b>"`, `"a b"`}[r.Intn(9)]
	}
}

func main() {
	r := rand.New(rand.NewSource(1))
	sections := map[string][]any{}
	seen := map[string]bool{}
	add := func(section string, in string, f func([]byte) any) {
		if seen[section+in] {
			return
		}
		seen[section+in] = true
		sections[section] = append(sections[section], f([]byte(in)))
	}

	for _, c := range nasty.JSON {
		add("json", c, fromJSON)
	}
	for i := 0; i < 700; i++ {
		add("json", randomJSON(r, 3), fromJSON)
	}
	for i := 0; i < 2300; i++ {
		base := randomJSON(r, 3)
		if i%4 == 0 {
			base = nasty.JSON[r.Intn(len(nasty.JSON))]
		}
		add("json", mutate(r, base, "{}[]\",:\\ue01.-+tfn \n\xff\x00a"), fromJSON)
	}

	for _, s := range nasty.Scalars {
		add("yaml", s, fromYAML)
		add("yaml", "a: "+s+"\n", fromYAML)
		add("yaml", "- "+s+"\n- 1\n", fromYAML)
		add("yaml", "["+s+"]", fromYAML)
		add("yaml", s+": 1\n", fromYAML)
	}
	for _, c := range nasty.YAML {
		add("yaml", c, fromYAML)
	}
	for i := 0; i < 900; i++ {
		var b strings.Builder
		for n := 1 + r.Intn(7); n > 0; n-- {
			b.WriteString(words[r.Intn(len(words))])
		}
		add("yaml", b.String(), fromYAML)
	}
	for i := 0; i < 900; i++ {
		add("yaml", mutate(r, nasty.YAML[r.Intn(len(nasty.YAML))], ":-{}[],&*!|>'\"#\n 1ax?%<"), fromYAML)
	}
	record.Write(sections)
}
