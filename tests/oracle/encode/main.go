// Command encode records what kube-apiserver's encoders make of values.
package main

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"bailiwick.dev/oracle/internal/nasty"
	"bailiwick.dev/oracle/internal/record"
)

// encoded is [input, compact, pretty, YAML].
func encoded(in string) any {
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(in), &v); err != nil {
		panic(in + ": " + err.Error())
	}
	var compact bytes.Buffer
	if err := json.NewEncoder(&compact).Encode(v); err != nil {
		panic(err)
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	y, err := yaml.JSONToYAML(plain)
	text := string(y)
	if err != nil {
		text = "error: " + err.Error()
	}
	return []any{in, compact.String(), string(pretty), text}
}

func randomText(r *rand.Rand) string {
	pieces := []string{"a", "b", " ", "  ", "\n", "\n\n", ":", ": ", " #", "#", "-", "- ", "'", "\"", "\\", "yes", "1", "1.5", "~", "é", "\t", "\r", "\u00a0", "\u0085", "😀", "<", "&", "*", "!", "%", "@", "[", "]", "{", "}", ",", "|", ">", "?", "2001-01-01", ":30", "..", "---", "\u0007", "\u001b", "word", "a longer word here"}
	var b strings.Builder
	for n := r.Intn(6); n > 0; n-- {
		b.WriteString(pieces[r.Intn(len(pieces))])
	}
	if r.Intn(12) == 0 {
		for b.Len() < 200 {
			b.WriteString([]string{"lorem ", "ipsum", " ", "dolor: ", "sit'", "x"}[r.Intn(6)])
		}
	}
	return b.String()
}

func randomValue(r *rand.Rand, depth int) any {
	switch k := r.Intn(10); {
	case k < 3 && depth > 0:
		m := map[string]any{}
		for n := r.Intn(4); n > 0; n-- {
			m[randomText(r)] = randomValue(r, depth-1)
		}
		return m
	case k < 5 && depth > 0:
		l := []any{}
		for n := r.Intn(4); n > 0; n-- {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	case k == 5:
		return []any{0, -1, 1.5, 1e21, 1e-7, 123456789.5, 9007199254740993, -0.001, 100.0, 1e20, 1234567.0, 0.000001, 12345678901234567890.0}[r.Intn(13)]
	case k == 6:
		return []any{true, false, nil}[r.Intn(3)]
	default:
		return randomText(r)
	}
}

func main() {
	r := rand.New(rand.NewSource(1))
	sections := map[string][]any{}
	seen := map[string]bool{}
	var texts []string
	for _, s := range append(append([]string{}, nasty.Scalars...), nasty.JSON...) {
		if !strings.ContainsAny(s, "\xff") {
			texts = append(texts, s)
		}
	}
	texts = append(texts, "a\nb", "a\nb\n", "a\n\nb\n\n", "\n", "\n\n", " a\nb", "a \nb", "a\n b", "\na", "a\n ", "a\tb\nc", "\r", "a\r\nb", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("word ", 30), strings.Repeat("word: ", 30), strings.Repeat("it's ", 30), strings.Repeat("é\t ", 40), "a  "+strings.Repeat("b ", 60)+"  c", "\ufeffab", "a2", "a10", "a02", "A1", "é1")
	for _, s := range texts {
		for _, v := range []any{s, map[string]any{s: 1}, map[string]any{"a": []any{s, map[string]any{"b": s}}}} {
			in, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			if len(in) < 400 && !seen["encode"+string(in)] {
				seen["encode"+string(in)] = true
				sections["encode"] = append(sections["encode"], encoded(string(in)))
			}
		}
	}
	sorted := map[string]any{}
	for _, k := range []string{"a", "b", "a1", "a2", "a10", "a01", "a001", "A", "Z", "z", "1", "2", "10", "-", "_", "a-b", "a_b", "a.b", "aB", "ab", "é", "zé", "", " ", "01", "100", "1.5", "~"} {
		sorted[k] = 1
	}
	in, _ := json.Marshal(sorted)
	sections["encode"] = append(sections["encode"], encoded(string(in)))
	for i := 0; i < 500; i++ {
		in, err := json.Marshal(randomValue(r, 3))
		if err != nil {
			panic(err)
		}
		if len(in) < 300 && !seen["encode"+string(in)] {
			seen["encode"+string(in)] = true
			sections["encode"] = append(sections["encode"], encoded(string(in)))
		}
	}
	record.Write(sections)
}
