// Command apply records what Kubernetes makes of field sets, of typed values, and of scripts of updates and applies.
package main

import (
	"math/rand"

	"bailiwick.dev/oracle/internal/record"
)

func main() {
	silence()
	r := generator{rand.New(rand.NewSource(1))}
	record.Write(map[string][]any{
		named:      {everything()},
		"elements": elements(),
		"sets":     sets(r),
		"values":   values(r),
		"scripts":  append(handScripts(), randomScripts(r)...),
		"times":    times(),
	})
}
