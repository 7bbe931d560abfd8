package main

import (
	"regexp"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// The first entry has no format and holds all texts.
type formatAnswer struct {
	Format string   `json:"format"`
	Holds  []string `json:"holds"`
}

// The first entry has an empty pattern, which all texts match.
type patternAnswer struct {
	Pattern string   `json:"pattern"`
	Error   string   `json:"error,omitempty"`
	Matches []string `json:"matches,omitempty"`
}

var formatNames = []string{
	"bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "duration", "email", "hexcolor", "hostname", "ipv4",
	"ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn", "uri",
	"uuid", "uuid3", "uuid4", "uuid5",
}

var texts = []string{
	"", " ", "a", "a-", "-a", "a-b", "my-host", "a.b", "a.bc", "A.bc", "a-b.c-d.com", "x.y.z", "1.com", "1", "a_b.com", "ü.de", "a.ü", "a.üü", "☃.net",
	"a..b", ".a", "a.", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bc", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bc",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Abc", "abc.Def",
	"1.2.3.4", "01.002.3.4", "1.2.3", "1.2.3.256", "1.2.3.4.5", "1.2.3.04/8", "10.0.0.0/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1",
	"::", "::1", "::ffff:1.2.3.4", "::ffff:01.2.3.4", "1::2::3", "fe80::1%eth0", "2001:db8::/32", "::/129", "12345::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "::1.2.3.4/64",
	"00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44", "00:11-22:33:44:55", "00:11:22:33:44:55:66:77", "0:11:22:33:44:55", "0011.2233.44556", "001122334455", "00112233445", "00:11:22:33:44:5g",
	"3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3F2504E04F8911D39A0C0305E82C3301", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3f2504e0-4f89-31d3-1a0c-0305e82c3301", "3f2504e0-4f89-51d3-ca0c-0305e82c3301", "3f2504e0-4f89-51d3-ba0c-0305e82c3301", "3f2504e0--4f89-41d3-9a0c-0305e82c3301", "3f2504e0-4f89-41d3-9a0c-0305e82c330", "3f2504e0-4f89-41d3-9a0c-0305e82c33011", "3f2504e04f89-41d39a0c-0305e82c3301", "gf2504e0-4f89-41d3-9a0c-0305e82c3301",
	"2020-01-01", "2020-02-29", "2021-02-29", "2000-02-29", "1900-02-29", "2020-13-01", "2020-00-10", "2020-1-1", "2020-04-31", "0000-01-01", "20200-01-01", "2020-01-00", "2020/01/01", "+020-01-01",
	"2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01T24:00:00Z", "2020-01-01T23:59:60Z", "2020-01-01T23:59:59.123Z", "2020-01-01T23:59:59x123Z", "2020-01-01T23:59:59+01:00", "2020-01-01T23:59:59+0100", "2020-01-01 23:59:59Z", "2020-01-01T23:59:59", "2020-01-01T23:59:59ZTx", "2020-02-30T23:59:59Z", "T00:00:00Z", "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00Z ",
	"0", "+0", "-0", "1s", "1.5h", "1h30m", "-1h", ".5s", "1.s", ".s", "5µs", "5μs", "1d", "2 weeks", "3 Hours", "1 fortnight", "1 minutes and 2 x", "9223372036854775808ns", "9223372036854775807ns", "99999999999999999999h", "9999999999h", "1h2", "h", "1 ns", "10msec", "1mo", "1 milliseconds", "1 year", "0.000000000000000000000000001s",
	"a@b.c", "a@b", "a.b@c", "a..b@c", ".a@b", "a.@b", "\"a b\"@c", "\"\"@c", "A B <a@b.c>", "A. B. <a@b.c>", "<a@b.c>", "<a@b.c", "a@b.c (x)", "a@b.c (x", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@[::1]", "a@[x]", "a@", "@b", "a b@c", "a@b@c", "g: a@b;", "g: a@b, c@d;", "g:;", "é@ü.de", "a@b.c,", "=?utf-8?q?x?= <a@b.c>", "\"x\\\"y\" <a@b.c>", " a@b.c ", "a@b..c", "(x) a@b.c", "a(x)@b",
	"http://a.b", "http://a.b/c?d#e", "http://a b", "http://a.b/c d", "http://a%20b", "http://a.b/%zz", "http://a.b/%2F", "http://a.b:80", "http://a.b:x", "http://[::1]:80/", "http://[::1", "http://[1.2.3.4]/", "http://[fe80::1%25en0]/", "http://[fe80::1%25]/", "http://u:p@h/", "http://u p@h/", "http://u%zz@h/", "mailto:a@b", "/x", "//x", "x", "x/y", "*", ":x", "1a:b", "a+b:c", "http://", "http:", "http:///x", "http://a:1:2/", "pg://a:1,b:2/", "http://a\"b/", "http://a^b/", "http://é/", "http://a#b", "x?y", "/?", "http://[::1]x/",
	"9780306406157", "978-0-306-40615-7", "978-0-306-40615-8", "0306406152", "0-306-40615-2", "0-306-40615-3", "080442957X", "08044 2957X", "0804x2957X", "é306406152",
	"4220855426222389", "4220 8554 2622 2389", "4220855426213389", "5139288802098206", "374953669708156", "6011464355444102", "6521674451993089", "3548209662790989", "30190239451016", "4222222222222", "30569309025904", "x4220855426222389y",
	"123-45-6789", "123 45 6789", "123456789", "123-45 6789", "123-45-67890", "12a-45-6789",
	"#fff", "fff", "#ffff", "#ffffff", "#FFFFFg", "##fff", "rgb(1,2,3)", "rgb( 255 , 0 ,100)", "rgb(256,0,0)", "rgb(01,0,0)", "rgb(1,2)", "rgb(1,2,3) ", "rgb(1,2,3,4)", "RGB(1,2,3)", "rgb(\t1,\n2,3)", "rgb(,,)",
	"YQ==", "YWI=", "YWJj", "YWJ", "Y===", "YQ=", "Y Q==", "YWJjZA==", "YW-j", "====", "YQ==\n", "Y=Q=",
	"507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901", "507F1F77BCF86CD799439011", "507f1f77bcf86cd79943901g",
}

func formats() []formatAnswer {
	answers := []formatAnswer{{Holds: texts}}
	for _, format := range formatNames {
		answer := formatAnswer{Format: format, Holds: []string{}}
		for _, text := range texts {
			if strfmt.Default.Validates(format, text) {
				answer.Holds = append(answer.Holds, text)
			}
		}
		answers = append(answers, answer)
	}
	return answers
}

var patternSources = []string{
	``, `^a`, `b$`, `^\d+$`, `^[\d]+$`, `^\D$`, `^\w+$`, `^[^\w]$`, `^\W$`, `^\s$`, `^\S$`, `^[\s]$`, `\bé`, `\Bé`, `^.$`, `(?s)^.$`, `(?i)^K$`, `(?i)^\w$`, `(?i)[k]`,
	`^[[]$`, `^[]]$`, `^[^]]$`, `^[a-]$`, `^[-a]$`, `^[a\-z]$`, `^[a&&b]+$`, `^[a~~b]+$`, `^[--a]$`, `^[[:alpha:]]$`, `^[[:^alpha:]]$`, `^[[:foo:]]$`, `[[:alpha:]`, `^[[:a]+$`, `^[\]\[]$`,
	`x{2}`, `x{2,}`, `x{1,2}`, `^x{,2}$`, `^x{$`, `^x{a}$`, `^x{1`, `^x{01}$`, `x{1001}`, `x{2,1}`, `(x{100}){11}`, `x**`, `x*?`, `x+?*`, `x??`, `x{2}{3}`, `*`, `+x`, `?`, `(*)`, `(|*)`, `{1}`, `^*`, `$+`, `(?i)*`,
	`(a`, `a)`, `(?:a)`, `(?P<n>a)`, `(?<n>a)`, `(?P<n`, `(?P<>a)`, `(?P<a-b>a)`, `(?=a)`, `(?!a)`, `(?<=a)`, `(?x)a`, `(?i-s:a)`, `(?-i)a`, `(?--i)a`, `(?i-)a`, `(?`, `(?i`, `()`, `a||b`, `(?)`,
	`\`, `\8`, `\1`, `\07`, `\101`, `\x41`, `\x{1F600}`, `\x{110000}`, `\x4`, `\xg1`, `\x{}`, `\q`, `\_`, `\-`, `\<`, `\Z`, `\z`, `\Aa`, `\C`, `\Q.*\E`, `\Qa`, `\Qab\E+`, `\E`, `\pL`, `\PL`, `\p{Greek}`, `\p{^Greek}`, `\P{^Greek}`, `\p{Foo}`, `\p{`, `\p`, `[\pL]`, `[\d-z]`, `[a-\d]`, `[z-a]`, `[a`, `[`, `[]`, `[^`, `[a-`, `[\`, `\a\f\t\n\r\v`, `é`, `^[é-ü]$`, `^(([a-z0-9])|([A-Z]))*$`, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, `^\$\{[^}]*\}$`, `^\/foo\/`, `#~@!%&`, `^[\w.+-]+@[\w-]+\.[\w.-]+$`,
}

var patternTexts = []string{"", "a", "b", "ab", "A", "k", "K", "\u212a", "1", "12", "٣", "_", "-", "é", "aé", "-é", "ü", " ", "\n", "\t", "\v", "\u00a0", "[", "]", "&", "~", "^", "x", "xx", "xxx", "x{,2}", "x{", "x{a}", "x{1", "x{01}", "{1}", "<", ".*", "ab+", "😀", "α", "Ω", "\x07\f\t\n\r\v", "#~@!%&", "a.b-c", "${x}", "/foo/", "me@example.org", "ſ", ":", "[:a"}

func patterns() []patternAnswer {
	var answers []patternAnswer
	for _, source := range patternSources {
		answer := patternAnswer{Pattern: source}
		compiled, err := regexp.Compile(source)
		if err != nil {
			answer.Error = err.Error()
		} else {
			for _, text := range patternTexts {
				if compiled.MatchString(text) {
					answer.Matches = append(answer.Matches, text)
				}
			}
		}
		answers = append(answers, answer)
	}
	return answers
}
