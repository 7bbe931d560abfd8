// Records how label selectors are read, written and matched, from text and from their structured form.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"bailiwick.dev/oracle/record"
)

var sets = []labels.Set{
	{},
	{"a": ""},
	{"a": "b"},
	{"a": "b", "c": "d", "in": "notin"},
	{"a": "x", "e": "y", "i": "2", "j": "1"},
	{"i": "9223372036854775807", "j": "-1", "x/y": "1"},
	{"i": "+5", "j": "1.5", "x/y": "z", "A": "B"},
}

type answer struct {
	Input      *string               `json:"i,omitempty"`
	Structured *metav1.LabelSelector `json:"l,omitempty"`
	Text       string                `json:"s,omitempty"`
	Matches    string                `json:"m,omitempty"`
	Error      string                `json:"e,omitempty"`
	Errors     []string              `json:"v,omitempty"`
}

var texts record.Texts

func main() {
	for _, message := range [][]string{validation.IsQualifiedName("!"), validation.IsQualifiedName("a/b/c"),
		validation.IsQualifiedName("A/b"), validation.IsValidLabelValue("!")} {
		texts.Know(message...)
	}
	source := record.New(3)
	valid := []string{"a=b", "c!=d", "e in (x,y)", "f notin (z)", "g", "!h", "i>1", "j<2", "a==b", "a in (in,notin)", "in in (in)", "x/y=z", "a=", "a!=",
		"a in ()", "a in (,)", "a in (b,,c)", "a in (b,)", "notin", "i>-1", "i>+1", "i>x", "i>9223372036854775808", "A=B", "a=b,a!=b", " a = b , c "}
	pieces := append([]string{"a", "b", "c", "i", "x/y", "in", "notin", " in ", " notin ", "=", "==", "!=", "!", "(", ")", ",", ">", "<", " ", "1", "\t"},
		record.Nasty...)

	inputs := append(append([]string{}, record.Nasty...), valid...)
	for range 750 {
		inputs = append(inputs, source.Pick(valid)+","+source.Pick(valid)+","+source.Pick(valid), source.Mutate(source.Pick(valid), pieces),
			source.Mutate(source.Pick(valid)+","+source.Pick(valid), pieces), source.Of(pieces, 8))
	}
	seen := map[string]bool{}
	var answers []answer
	for _, input := range inputs {
		if seen[input] {
			continue
		}
		seen[input] = true
		a := answer{Input: &input}
		a.finish(labels.Parse(input))
		answers = append(answers, a)
	}
	for range 500 {
		selector := structured(source)
		a := answer{Structured: &selector}
		a.finish(metav1.LabelSelectorAsSelector(&selector))
		for _, err := range v1validation.ValidateLabelSelector(&selector, v1validation.LabelSelectorValidationOptions{}, field.NewPath("spec", "selector")) {
			a.Errors = append(a.Errors, texts.Shorten(err.Error()))
		}
		answers = append(answers, a)
	}
	record.Write(map[string]any{"texts": texts.All(), "sets": sets}, answers)
}

func (a *answer) finish(selector labels.Selector, err error) {
	if err != nil {
		a.Error = texts.Shorten(err.Error())
		return
	}
	a.Text = selector.String()
	for _, set := range sets {
		if selector.Matches(set) {
			a.Matches += "1"
		} else {
			a.Matches += "0"
		}
	}
}

// Go walks maps in any order: no more than one label is wrong.
func structured(source record.Source) metav1.LabelSelector {
	var selector metav1.LabelSelector
	for range source.Intn(3) {
		if selector.MatchLabels == nil {
			selector.MatchLabels = map[string]string{}
		}
		selector.MatchLabels[source.Pick([]string{"a", "c", "x/y"})] = source.Pick([]string{"", "b", "d", "z"})
	}
	if source.Intn(10) == 0 {
		selector.MatchLabels = map[string]string{source.Pick(record.Nasty): source.Pick(record.Nasty)}
	}
	for range source.Intn(4) {
		expression := metav1.LabelSelectorRequirement{
			Key:      source.Pick([]string{"a", "c", "e", "i", "x/y"}),
			Operator: metav1.LabelSelectorOperator(source.Pick([]string{"In", "In", "NotIn", "Exists", "DoesNotExist"})),
		}
		if source.Intn(15) == 0 {
			expression.Key = source.Pick(record.Nasty)
		}
		if source.Intn(15) == 0 {
			expression.Operator = metav1.LabelSelectorOperator(source.Pick([]string{"", "Gt", "in", "<x>", "é\u200b\x01"}))
		}
		few := 4
		if expression.Operator == "Exists" || expression.Operator == "DoesNotExist" {
			few = 1 + source.Intn(2)
		}
		for range source.Intn(few) {
			value := source.Pick([]string{"b", "x", "y", "", "b"})
			if source.Intn(15) == 0 {
				value = source.Pick(record.Nasty)
			}
			expression.Values = append(expression.Values, value)
		}
		selector.MatchExpressions = append(selector.MatchExpressions, expression)
	}
	return selector
}
