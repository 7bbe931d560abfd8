// Command hosttypes writes what Go's types say about Kubernetes' own kinds: the fields of every message that can be reached
// from them, with their numbers, types and rules of merging. What is written is machinery/src/host/types.txt, which
// explains its form at its head.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"bailiwick.dev/oracle/internal/hostkinds"
)

const head = `# What Kubernetes' own kinds consist of, as the published Go packages say it. Made by tests/oracle/hosttypes; do not edit.
#
#   kind <apiVersion> <kind> <message>
#   message <package>.<Go name> [atomic]
#   <number> <JSON name>[?][~] <type> [go=<Go name>] [named=<Go type>] [patch=<strategies>] [key=<merge key>] [list=<type>[:<keys>]] [map=<type>] [default=<JSON>]
#
# ? is left out of JSON when it is empty, ~ when it is the zero value of its type. *T may be absent, []T is repeated, map[]T has
# texts as keys, list[]T is a list that is a message of its own. A field whose JSON name is a point has no object of its
# own in JSON: its fields stand beside it. Facts that are the usual ones are not written: a Go name that is the JSON name with a
# capital, a Go type without a name of its own, and merge and list types that nobody has stated.
`

// Types whose JSON is not what their fields would suggest.
var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():    "Quantity",
	reflect.TypeFor[intstr.IntOrString]():   "IntOrString",
	reflect.TypeFor[metav1.Time]():          "Time",
	reflect.TypeFor[metav1.MicroTime]():     "MicroTime",
	reflect.TypeFor[metav1.FieldsV1]():      "FieldsV1",
	reflect.TypeFor[runtime.RawExtension](): "RawExtension",

	reflect.TypeFor[apiextensionsv1.JSON]():                         "JSON",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "SchemaOrList",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "SchemaOrTexts",
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, head)
	scheme := hostkinds.Scheme()
	var queue []reflect.Type
	for _, object := range hostkinds.All {
		gvk := hostkinds.GVK(scheme, object)
		t := reflect.TypeOf(object).Elem()
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		fmt.Fprintf(out, "kind %s %s %s\n", apiVersion, kind, name(t))
		queue = append(queue, t)
	}
	written := map[reflect.Type]bool{}
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if written[t] {
			continue
		}
		written[t] = true
		queue = append(queue, message(out, t)...)
	}
}

// message writes a message, and returns those it consists of.
func message(out *bufio.Writer, t reflect.Type) []reflect.Type {
	source := sourceOf(t)
	fmt.Fprintf(out, "message %s%s\n", name(t), source.atomic(t.Name()))
	var parts []reflect.Type
	var lines []string
	numbers := map[string]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			if !strings.Contains(field.Tag.Get("json"), ",inline") {
				fmt.Fprintf(os.Stderr, "no number: %s.%s\n", name(t), field.Name)
			}
			continue
		}
		line, number, part := describe(t, field, source)
		numbers[line] = number
		lines = append(lines, line)
		if part != nil {
			parts = append(parts, part)
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return numbers[a] - numbers[b] })
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return parts
}

func describe(owner reflect.Type, field reflect.StructField, source source) (string, int, reflect.Type) {
	tag := strings.Split(field.Tag.Get("protobuf"), ",")
	number, err := strconv.Atoi(tag[1])
	if err != nil {
		panic(err)
	}
	json := strings.Split(field.Tag.Get("json"), ",")
	marks := ""
	if slices.Contains(json[1:], "omitempty") {
		marks += "?"
	}
	if slices.Contains(json[1:], "omitzero") {
		marks += "~"
	}
	inline := slices.Contains(json[1:], "inline")
	jsonName := json[0]
	if inline {
		jsonName = "."
	}
	text, part := typeName(field.Type)
	line := fmt.Sprintf("%d %s%s %s", number, jsonName, marks, text)
	if field.Name != strings.ToUpper(jsonName[:1])+jsonName[1:] {
		line += " go=" + field.Name
	}
	if named := goType(field.Type); named != "" {
		line += " named=" + named
	}
	if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
		line += " patch=" + strategy
	}
	if key := field.Tag.Get("patchMergeKey"); key != "" {
		line += " key=" + key
	}
	return line + source.facts(owner.Name(), field.Name), number, part
}

func typeName(t reflect.Type) (string, reflect.Type) {
	if text, ok := special[t]; ok {
		return text, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		text, part := typeName(t.Elem())
		return "*" + text, part
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes", nil
		}
		if t.Name() != "" && t.PkgPath() != "" && hasMarshal(t) {
			// A list that is a message of its own.
			text, part := typeName(t.Elem())
			return "list[]" + text, part
		}
		text, part := typeName(t.Elem())
		return "[]" + text, part
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(t)
		}
		text, part := typeName(t.Elem())
		return "map[]" + text, part
	case reflect.Struct:
		return name(t), t
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String(), nil
	}
	panic(fmt.Sprintf("no name for %v", t))
}

// goType is the name by which errors call a type, where its form does not tell it.
func goType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Name() == "" {
		t = t.Elem()
	}
	if special[t] == "" && t.Kind() != reflect.Struct && t.PkgPath() != "" {
		return t.String()
	}
	if t.Kind() == reflect.Map && t.Key().PkgPath()+t.Elem().PkgPath() != "" {
		return t.String()
	}
	return ""
}

func hasMarshal(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("MarshalTo")
	return found
}

// name is the group without its domain, and the Go name.
func name(t reflect.Type) string {
	return path.Base(path.Dir(t.PkgPath())) + "." + t.Name()
}

// === what is written in comments ===

type source struct {
	types     map[string]string
	fields    map[string]string
	constants map[string]string
}

var (
	sources = map[string]source{}
	marker  = regexp.MustCompile(`(?m)^\s*\+(listType|listMapKey|mapType|structType|default)=(.*?)\s*$`)
)

func sourceOf(t reflect.Type) source {
	if known, ok := sources[t.PkgPath()]; ok {
		return known
	}
	found, err := build.Import(t.PkgPath(), ".", build.FindOnly)
	if err != nil {
		panic(err)
	}
	packages, err := parser.ParseDir(token.NewFileSet(), found.Dir, nil, parser.ParseComments)
	if err != nil {
		panic(err)
	}
	s := source{types: map[string]string{}, fields: map[string]string{}, constants: map[string]string{}}
	for _, p := range packages {
		for _, file := range p.Files {
			for _, decl := range file.Decls {
				s.read(decl)
			}
		}
	}
	sources[t.PkgPath()] = s
	return s
}

func (s source) read(decl ast.Decl) {
	types, ok := decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range types.Specs {
		if constant, ok := spec.(*ast.ValueSpec); ok && len(constant.Values) == 1 {
			if literal, ok := constant.Values[0].(*ast.BasicLit); ok {
				s.constants[constant.Names[0].Name] = literal.Value
			}
		}
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s.types[spec.Name.Name] = types.Doc.Text() + spec.Doc.Text()
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range fields.Fields.List {
			for _, name := range names(field) {
				s.fields[spec.Name.Name+"."+name] = field.Doc.Text()
			}
		}
	}
}

func names(field *ast.Field) (all []string) {
	for _, name := range field.Names {
		all = append(all, name.Name)
	}
	if len(all) > 0 {
		return all
	}
	switch t := field.Type.(type) {
	case *ast.SelectorExpr:
		return []string{t.Sel.Name}
	case *ast.Ident:
		return []string{t.Name}
	}
	return nil
}

func (s source) atomic(typeName string) string {
	for _, found := range marker.FindAllStringSubmatch(s.types[typeName], -1) {
		if (found[1] == "structType" || found[1] == "mapType") && found[2] == "atomic" {
			return " atomic"
		}
	}
	return ""
}

func (s source) facts(typeName, fieldName string) string {
	var list, mapType, value string
	var keys []string
	for _, found := range marker.FindAllStringSubmatch(s.fields[typeName+"."+fieldName], -1) {
		switch found[1] {
		case "listType":
			list = found[2]
		case "listMapKey":
			keys = append(keys, found[2])
		case "mapType", "structType":
			mapType = found[2]
		case "default":
			value = found[2]
			if reference, ok := strings.CutPrefix(value, "ref("); ok {
				value = s.constants[strings.TrimSuffix(reference, ")")]
			}
		}
	}
	text := ""
	if list != "" {
		text += " list=" + list
		if len(keys) > 0 {
			text += ":" + strings.Join(keys, ",")
		}
	}
	if mapType != "" {
		text += " map=" + mapType
	}
	if value != "" {
		text += " default=" + value
	}
	return text
}
