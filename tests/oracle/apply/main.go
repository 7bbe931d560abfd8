// Command apply records what Kubernetes makes of field sets, of typed values, and of scripts of updates and applies.
//
// `apply SEED COUNT` records nothing: it prints scripts by chance, of so many applies in all, for a test that reads them.
package main

import (
	"math/rand"
	"os"
	"strconv"

	"bailiwick.dev/oracle/internal/record"
)

func main() {
	silence()
	if len(os.Args) == 3 {
		stream(number64(os.Args[1]), int(number64(os.Args[2])))
		return
	}
	r := generator{Rand: rand.New(rand.NewSource(1))}
	record.Write(map[string][]any{
		named:      {everything()},
		"elements": elements(),
		"sets":     sets(r),
		"values":   values(r),
		"scripts":  append(handScripts(), randomScripts(r)...),
		"times":    times(),
	})
}

func number64(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	must(err)
	return n
}
