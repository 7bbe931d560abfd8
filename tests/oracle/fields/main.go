// Records how field selectors are read, written and matched.
package main

import (
	"k8s.io/apimachinery/pkg/fields"

	"bailiwick.dev/oracle/record"
)

var sets = []fields.Set{
	{},
	{"a": "b"},
	{"a": "b", "c": "d"},
	{"a": ",", "c": "=", "metadata.name": "x"},
	{"a": "\\", "c": "b=c", "": "x"},
}

type answer struct {
	Input        string      `json:"i"`
	Text         string      `json:"s,omitempty"`
	Requirements [][3]string `json:"r,omitempty"`
	Matches      string      `json:"m,omitempty"`
	Error        string      `json:"e,omitempty"`
}

func main() {
	source := record.New(4)
	valid := []string{"a=b", "a==b", "a!=b", "metadata.name=x", "a=b,c=d", "a=b,c!=d", "a=", "=", "!=", "=x", "a=\\,", "a=\\=,c=d", "a=\\\\", "c=b\\=c",
		"a==z,a=c", "a\\,b=c", "a\\==b", "a!!=b", ",,a=b,,", "a=b,a=b"}
	pieces := append([]string{"a", "b", "c", "=", "==", "!=", "!", ",", "\\", "\\,", "\\=", "\\\\", " ", "metadata.name"}, record.Nasty...)
	inputs := append(append([]string{}, record.Nasty...), valid...)
	for range 800 {
		inputs = append(inputs, source.Pick(valid)+","+source.Pick(valid), source.Mutate(source.Pick(valid), pieces),
			source.Mutate(source.Pick(valid)+","+source.Pick(valid), pieces), source.Of(pieces, 8))
	}
	seen := map[string]bool{}
	var answers []answer
	for _, input := range inputs {
		if seen[input] {
			continue
		}
		seen[input] = true
		a := answer{Input: input}
		selector, err := fields.ParseSelector(input)
		if err != nil {
			a.Error = err.Error()
		} else {
			a.Text = selector.String()
			for _, requirement := range selector.Requirements() {
				a.Requirements = append(a.Requirements, [3]string{requirement.Field, string(requirement.Operator), requirement.Value})
			}
			for _, set := range sets {
				if selector.Matches(set) {
					a.Matches += "1"
				} else {
					a.Matches += "0"
				}
			}
		}
		answers = append(answers, a)
	}
	record.Write(map[string]any{"sets": sets}, answers)
}
