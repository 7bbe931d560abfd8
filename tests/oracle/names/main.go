// Records what is wrong with names, by the rules for names, labels and annotations.
package main

import (
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"

	"bailiwick.dev/oracle/record"
)

type rule struct {
	name  string
	check func(string) []string
}

func whole(check apivalidation.ValidateNameFunc) func(string) []string {
	return func(name string) []string { return check(name, false) }
}

func prefix(check apivalidation.ValidateNameFunc) func(string) []string {
	return func(name string) []string { return check(name, true) }
}

var rules = []rule{
	{"dns1123Label", validation.IsDNS1123Label},
	{"dns1123Subdomain", validation.IsDNS1123Subdomain},
	{"dns1035Label", validation.IsDNS1035Label},
	{"pathSegment", path.IsValidPathSegmentName},
	{"pathSegmentPrefix", path.IsValidPathSegmentPrefix},
	{"qualifiedName", validation.IsQualifiedName},
	{"labelValue", validation.IsValidLabelValue},
	{"annotationKey", func(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) }},
	{"rule/DnsSubdomain", whole(apivalidation.NameIsDNSSubdomain)},
	{"rule/DnsSubdomain/prefix", prefix(apivalidation.NameIsDNSSubdomain)},
	{"rule/DnsLabel/prefix", prefix(apivalidation.NameIsDNSLabel)},
	{"rule/Dns1035Label/prefix", prefix(apivalidation.NameIsDNS1035Label)},
	{"rule/PathSegment", whole(path.ValidatePathSegmentName)},
	{"rule/PathSegment/prefix", prefix(path.ValidatePathSegmentName)},
}

type answer struct {
	Input string  `json:"i"`
	Out   [][]int `json:"o"`
}

func main() {
	source := record.New(1)
	valid := []string{"a", "0", "my-name", "123-abc", "example.com", "a.b.c", "a-b.c-d", "MyName", "my.name", "my_value", "example.com/MyName",
		"a/b", "kubernetes.io/metadata.name", "system:admin", "x--y", "foregroundDeletion", "orphan", "Example.COM/x", "a-", "ab-", "a.-", "abc--"}
	pieces := append([]string{"a", "b", "z", "0", "9", "-", ".", "_", "/", "A", ":", "%", "a.", "-a"}, record.Nasty...)

	inputs := append(append([]string{}, record.Nasty...), valid...)
	for _, unit := range []string{"a", "é", "A"} {
		for _, length := range []int{57, 58, 62, 63, 64, 252, 253, 254} {
			text := strings.Repeat(unit, length)
			inputs = append(inputs, text, text[:len(text)-2]+".a", text+"-", text+"/a", "a/"+text)
		}
	}
	inputs = append(inputs, strings.Repeat("Ⱥ", 21)+"a", strings.Repeat("ẞ", 31), strings.Repeat("K", 63), strings.Repeat("K", 22))
	for range 1700 {
		inputs = append(inputs, source.Mutate(source.Pick(valid), pieces), source.Of(pieces, 5))
	}

	var texts record.Texts
	seen := map[string]bool{}
	var answers []answer
	for _, input := range inputs {
		if seen[input] {
			continue
		}
		seen[input] = true
		a := answer{Input: input}
		for _, rule := range rules {
			found := []int{}
			for _, message := range rule.check(input) {
				texts.Know(message)
				for i, text := range texts.All() {
					if text == message {
						found = append(found, i)
					}
				}
			}
			a.Out = append(a.Out, found)
		}
		answers = append(answers, a)
	}
	names := []string{}
	for _, rule := range rules {
		names = append(names, rule.name)
	}
	record.Write(map[string]any{"rules": names, "texts": texts.All()}, answers)
}
