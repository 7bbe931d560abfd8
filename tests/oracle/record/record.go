// Package record helps the recorders: cases that are the same on every run, and JSON that is small and can be read.
package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
)

// Nasty holds texts that have broken parsers before.
var Nasty = []string{
	"", " ", "\t", "\n", "\x00", "a\x00b", "\x7f", "\u0085", "\u00a0", "\u200b", "\u202e", "\u2028", "\ufeff", "\ufffd", "\U000e0001",
	"\U0010ffff", "é", "ß", "ẞ", "İ", "ı", "K", "ſ", "Ⱥ", "Σ", "１２", "а", "😀", "e\u0301", ".", "..", "...", "-", "--", "_", "/", "//", "a/",
	"/a", "a/b/c", "%", "%2e%2e", "%2F", "\\", "'", "\"", "<", ">", "&", "=", "==", "!=", "!", ",", "(", ")", "()", "a.", ".a", "a..b",
	"a.-b", "a-.b", "a-", "-a", "a_", "_a", "A", "aA", "a b", "a\n", "\na", "0", "-0", "+0", "00", "1e3", "0x1", "null", "true",
}

// Source makes cases. Equal seeds make equal cases.
type Source struct{ *rand.Rand }

// New is a source with a seed.
func New(seed int64) Source { return Source{rand.New(rand.NewSource(seed))} }

// Pick returns one of the texts.
func (s Source) Pick(texts []string) string { return texts[s.Intn(len(texts))] }

// Of is a text of up to most pieces.
func (s Source) Of(pieces []string, most int) string {
	var text strings.Builder
	for range s.Intn(most + 1) {
		text.WriteString(s.Pick(pieces))
	}
	return text.String()
}

// Mutate changes a text in a few places.
func (s Source) Mutate(text string, pieces []string) string {
	runes := []rune(text)
	for range 1 + s.Intn(2) {
		at := s.Intn(len(runes) + 1)
		switch piece := []rune(s.Pick(pieces)); s.Intn(3) {
		case 0:
			runes = append(runes[:at:at], append(piece, runes[at:]...)...)
		case 1:
			if at < len(runes) {
				runes = append(runes[:at:at], runes[at+1:]...)
			}
		default:
			if at < len(runes) {
				runes = append(runes[:at:at], append(piece, runes[at+1:]...)...)
			}
		}
	}
	return string(runes)
}

// Texts gives long texts that occur often a short form.
type Texts struct {
	texts []string
}

// Know lets texts be shortened.
func (t *Texts) Know(texts ...string) {
	for _, text := range texts {
		known := false
		for _, old := range t.texts {
			known = known || old == text
		}
		if !known {
			t.texts = append(t.texts, text)
		}
	}
}

// Shorten writes known texts as ⟦number⟧.
func (t *Texts) Shorten(text string) string {
	for i, known := range t.texts {
		text = strings.ReplaceAll(text, known, fmt.Sprintf("⟦%d⟧", i))
	}
	return text
}

// All returns the known texts.
func (t *Texts) All() []string { return t.texts }

// Write prints the fields of head, and then the cases, one a line.
func Write[T any](head map[string]any, cases []T) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "{")
	for _, name := range slices.Sorted(maps.Keys(head)) {
		value := head[name]
		fmt.Fprintf(out, "%s: %s,\n", Line(name), Line(value))
	}
	fmt.Fprintln(out, `"cases": [`)
	for i, c := range cases {
		comma := ","
		if i == len(cases)-1 {
			comma = ""
		}
		fmt.Fprintf(out, "%s%s\n", Line(c), comma)
	}
	fmt.Fprintln(out, "]\n}")
}

// Line is a value as JSON.
func Line(value any) string {
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(line.String(), "\n")
}
