// Package record writes recorded cases in a form that tells apart what JSON does not: whole numbers from floating-point
// ones, and bytes from text.
package record

import (
	"encoding/hex"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"encoding/json"
)

// Canon writes a value so that equal texts mean equal values: sorted keys, `i1` and `f1`, ASCII only.
func Canon(v any) string {
	var b strings.Builder
	canon(&b, v)
	return b.String()
}

func canon(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString("i" + strconv.FormatInt(v, 10))
	case float64:
		b.WriteString("f" + strconv.FormatFloat(v, 'e', -1, 64))
	case string:
		quote(b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			canon(b, e)
		}
		b.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, k)
			b.WriteByte(':')
			canon(b, v[k])
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			fmt.Fprintf(b, "<%x>", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// Bytes is text where it is text, and hexadecimal digits after a `x:` where it is not.
func Bytes(b []byte) string {
	if utf8.Valid(b) && !strings.HasPrefix(string(b), "x:") {
		return string(b)
	}
	return "x:" + hex.EncodeToString(b)
}

// Write prints one case a line, so that a change of one case is a change of one line.
func Write(sections map[string][]any) {
	names := make([]string, 0, len(sections))
	for name := range sections {
		names = append(names, name)
	}
	sort.Strings(names)
	w := os.Stdout
	fmt.Fprintln(w, "{")
	for i, name := range names {
		fmt.Fprintf(w, "%q: [\n", name)
		for j, c := range sections[name] {
			var line strings.Builder
			e := json.NewEncoder(&line)
			e.SetEscapeHTML(false)
			if err := e.Encode(c); err != nil {
				panic(err)
			}
			comma := ","
			if j == len(sections[name])-1 {
				comma = ""
			}
			fmt.Fprintf(w, "%s%s\n", strings.TrimSuffix(line.String(), "\n"), comma)
		}
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(w, "]%s\n", comma)
	}
	fmt.Fprintln(w, "}")
}

// SortedKeys are the keys in the same order every time.
func SortedKeys(fields map[string]any) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
