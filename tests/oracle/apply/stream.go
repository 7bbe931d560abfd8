package main

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
)

// A kind, and what is done to objects of it.
type streamed struct {
	// Makes this line again, as the first of its stream.
	Seed     int64          `json:"seed"`
	Versions map[string]any `json:"versions"`
	Status   bool           `json:"status"`
	Scripts  [][]step       `json:"scripts"`
}

const scriptsOfOneKind = 16

// Prints a line for each kind, until there are enough applies. Each kind has the next seed.
func stream(seed int64, applies int) {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for ; applies > 0; seed++ {
		line := streamedKind(seed)
		for _, steps := range line.Scripts {
			for _, s := range steps {
				if s.Operation == "apply" {
					applies--
				}
			}
		}
		must(lines.Encode(line))
	}
	must(out.Flush())
}

func streamedKind(seed int64) streamed {
	r := generator{Rand: rand.New(rand.NewSource(seed)), bold: true}
	root := r.rootSchema()
	if r.chance(40) {
		root = small(r)
	}
	s := script{Status: r.chance(70), Versions: map[string]any{"v1": root}}
	switch {
	case r.chance(25):
		s.Versions["v2"] = root
	case r.chance(15):
		s.Versions["v2"] = atomicTwin(root)
	}
	w := newWorld(s.schemas(), s.Status)
	w.once = true
	line := streamed{Seed: seed, Versions: s.Versions, Status: s.Status}
	for range scriptsOfOneKind {
		line.Scripts = append(line.Scripts, r.run(w, s, root).Steps)
	}
	return line
}

// Says something of owners that is not so; or now and then nothing, and then the usual is said.
func (r generator) forge(object m) bool {
	metadata := object["metadata"].(m)
	switch n := r.Intn(100); {
	case n < 8:
		entries := l{}
		for range 1 + r.Intn(4) {
			entries = append(entries, r.entry())
		}
		metadata["managedFields"] = entries
		return true
	case n < 14:
		applied := decode(encode(object))
		annotations := m{"kubectl.kubernetes.io/last-applied-configuration": string(encode(applied))}
		metadata["annotations"] = annotations
	}
	return false
}

func (r generator) entry() m {
	entry := m{
		"manager": pick(r, "a", "b", "c", "kubectl"), "operation": pick(r, "Update", "Apply", "Apply"),
		"apiVersion": group + "/" + pick(r, "v1", "v1", "v1", "v2", "v9"), "fieldsType": "FieldsV1",
		"fieldsV1": m{pick(r, "f:spec", "f:status", "f:metadata"): r.fieldSet(3)},
	}
	if r.chance(20) {
		entry["subresource"] = "status"
	}
	if r.chance(50) {
		entry["time"] = pick(r, "2023-01-01T00:00:00Z", "2023-01-01T00:00:01Z")
	}
	switch r.Intn(60) {
	case 0:
		entry["operation"] = "Other"
	case 1:
		delete(entry, "apiVersion")
	case 2:
		entry["fieldsType"] = "FieldsV2"
	case 3:
		delete(entry, "fieldsV1")
	case 4:
		entry["apiVersion"] = "a/b/c"
	}
	return entry
}
