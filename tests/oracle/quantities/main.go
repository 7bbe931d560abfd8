// Records how quantities are read, written, compared, added and subtracted.
package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"bailiwick.dev/oracle/record"
)

type answer struct {
	Input string `json:"i,omitempty"`
	Error string `json:"e,omitempty"`
	// As it is written when it was only read, in its canonical form, and in full.
	Text      string `json:"s,omitempty"`
	Canonical string `json:"c,omitempty"`
	Decimal   string `json:"d,omitempty"`
	Format    string `json:"f,omitempty"`

	A       string `json:"a,omitempty"`
	B       string `json:"b,omitempty"`
	Compare *int   `json:"cmp,omitempty"`
	Sum     string `json:"add,omitempty"`
	Rest    string `json:"sub,omitempty"`
}

var suffixes = []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e0", "e1", "e2", "e3", "E6", "e-3", "e-9", "E-10",
	"e+5", "e20", "e-20"}

func main() {
	source := record.New(5)
	digits := []string{"0", "1", "2", "5", "8", "9", "00", "000", "24", "1024", "999"}
	number := func(most int) string {
		text := source.Pick([]string{"", "", "", "-", "+"}) + source.Of(digits, most)
		switch source.Intn(4) {
		case 0:
			text += "." + source.Of(digits, most)
		case 1:
			text = strings.TrimLeft(text, "0") + "1"
		}
		return text
	}
	edges := []string{"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", "9223372036854775807Ki", "8Ei", "7.999999999999999999Ei",
		"7.9999999999999999999999999999999999999999999999Ei", "-8Ei", "16Ei", "1000Ei", "0.000000001Ki", "0.0000000001Ki", "1.00000000000000000000000000000000000000000001Ki",
		"0.1Ki", "1023", "1024", "1Ki", "1023Ki", "0.5Ki", "1.5Gi", "100m", "1500m", "0.1m", "0.1u", "0.1n", "0.0000000001", "1e3", "12E", ".5", "5.", ".", "+", "-",
		"1e400", "1.5e400", "1e-400", "1e9999", "123456789012345678", "1234567890123456789", "12345678901234567890123456789", "1e999999999999999999999", "1E", "1e", "1Ee1",
		"1K", "1ki", "1mi", "1 ", " 1", "1.2.3", "0x10", "1_000", "1,5", "١", "1e1.5", "1e+", "--1", "+-1", "1i", "999999999999999999", "9999999999999999999", "000000000000000000007",
		"0.000000000000000000", "1.500", "1.500k", "1.000", "+5", "007", "8Ki", "12Ki", "1000E", "10E", "1000000n", "1000n", "0Ki", "0m", "-0", "0e5", "e-10", ".e-10"}
	pieces := append([]string{"0", "1", "9", ".", "e", "E", "i", "K", "m", "-", "+", "Ki", "e-"}, record.Nasty...)
	inputs := append(append([]string{}, record.Nasty...), edges...)
	for range 500 {
		inputs = append(inputs, number(2)+source.Pick(suffixes), number(4)+source.Pick(suffixes), number(9)+source.Pick(suffixes),
			source.Mutate(number(2)+source.Pick(suffixes), pieces), source.Mutate(source.Pick(edges), pieces))
	}
	seen := map[string]bool{}
	var answers []answer
	var valid []string
	for _, input := range inputs {
		// No answer comes back within a life time.
		if seen[input] || huge(input) {
			continue
		}
		seen[input] = true
		a := answer{Input: input}
		quantity, err := resource.ParseQuantity(input)
		if err != nil {
			a.Error = err.Error()
		} else {
			a.Text = quantity.String()
			a.Format = string(quantity.Format)
			canonical := quantity.DeepCopy()
			canonical.Neg()
			canonical.Neg()
			a.Canonical = canonical.String()
			a.Decimal = quantity.AsDec().String()
			if strings.Contains(a.Decimal, ".") {
				a.Decimal = strings.TrimRight(strings.TrimRight(a.Decimal, "0"), ".")
			}
			if len(a.Decimal) > 60 {
				a.Decimal = ""
			}
			valid = append(valid, input)
		}
		answers = append(answers, a)
	}
	for range 1500 {
		a, b := source.Pick(valid), source.Pick(valid)
		if source.Intn(4) == 0 {
			b = a
		}
		left, right := resource.MustParse(a), resource.MustParse(b)
		compare := left.Cmp(right)
		sum, rest := resource.MustParse(a), resource.MustParse(a)
		sum.Add(resource.MustParse(b))
		rest.Sub(resource.MustParse(b))
		if len(sum.String())+len(rest.String()) < 200 {
			answers = append(answers, answer{A: a, B: b, Compare: &compare, Sum: sum.String(), Rest: rest.String()})
		}
	}
	record.Write(map[string]any{"about": "quantities, as k8s.io/apimachinery reads and writes them"}, answers)
}

// huge tells whether a text may have an exponent of more than five digits.
func huge(text string) bool {
	at := strings.LastIndexAny(text, "eE")
	return at >= 0 && len(text)-at > 6 && text != "1e999999999999999999999"
}
