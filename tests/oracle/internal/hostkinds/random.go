package hostkinds

import (
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Filler fills objects with values that are the same for the same seed.
type Filler struct {
	*rand.Rand
	// Fields is about how many fields of a struct are filled.
	Fields int
}

var words = []string{
	"a", "name-1", "example.com/x", "ü", "日本", "line\nbreak", "\"q\"", "<&>", "0", "true", "\u2028", "a b", "Zz", "x_1", "TCP", "k8s",
}

// What a schema may hold as a value.
var values = []string{`"a"`, `1`, `-2.5`, `true`, `{}`, `[]`, `{"a":[1,null,"x"],"b":{"c":false}}`, `""`}

var quantities = []string{"0", "1", "100m", "1500m", "1Gi", "1.5Gi", "0.5", "1e3", "12e6", "1k", "-1", "3n", "1000000000000", "5Ti", "0.1Mi"}

// Fill fills a value at random, down to a depth.
func (f Filler) Fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(quantities[f.Intn(len(quantities))])))
		return
	case intstr.IntOrString:
		if f.Intn(2) == 0 {
			v.Set(reflect.ValueOf(intstr.FromInt32(int32(f.number()))))
		} else {
			v.Set(reflect.ValueOf(intstr.FromString(f.text())))
		}
		return
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(f.Int63n(4e9)-1e9, f.Int63n(1e9)))))
		return
	case metav1.MicroTime:
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(f.Int63n(4e9)-1e9, f.Int63n(1e9)))))
		return
	case metav1.FieldsV1:
		raw := fmt.Sprintf(`{"f:a%d":{},"f:b":{"k:{\"name\":\"x\"}":{".":{},"f:y":{}}}}`, f.Intn(9))
		v.Set(reflect.ValueOf(metav1.FieldsV1{Raw: []byte(raw)}))
		return
	case apiextensionsv1.JSON:
		v.Set(reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(values[f.Intn(len(values))])}))
		return
	case apiextensionsv1.JSONSchemaPropsOrBool:
		if made := (apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: f.schema(depth)}); f.Intn(2) == 0 {
			v.Set(reflect.ValueOf(made))
		} else {
			v.Set(reflect.ValueOf(apiextensionsv1.JSONSchemaPropsOrBool{Allows: f.Intn(2) == 0}))
		}
		return
	case apiextensionsv1.JSONSchemaPropsOrArray:
		made := apiextensionsv1.JSONSchemaPropsOrArray{Schema: f.schema(depth)}
		if f.Intn(3) == 0 {
			made = apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{*f.schema(depth), *f.schema(depth)}}
		}
		v.Set(reflect.ValueOf(made))
		return
	case apiextensionsv1.JSONSchemaPropsOrStringArray:
		made := apiextensionsv1.JSONSchemaPropsOrStringArray{Schema: f.schema(depth)}
		if f.Intn(2) == 0 {
			made = apiextensionsv1.JSONSchemaPropsOrStringArray{Property: []string{"a", f.text()}}
		}
		v.Set(reflect.ValueOf(made))
		return
	case metav1.TypeMeta:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.Intn(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(f.number())))
	case reflect.Int64:
		v.SetInt(f.number())
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -3, 1.5, -0.25, 1e15}[f.Intn(6)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.Fill(v.Elem(), depth)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			bytes := make([]byte, f.Intn(6))
			f.Read(bytes)
			v.SetBytes(bytes)
			return
		}
		for range f.Intn(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			f.Fill(item, depth-1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.Intn(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(f.text())
			f.Fill(value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if depth <= 0 {
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Anonymous || f.Intn(v.NumField()) < f.Fields {
				f.Fill(v.Field(i), depth-1)
			}
		}
	default:
		panic(v.Type())
	}
}

// schema is never nil, and empty where it would be too deep.
func (f Filler) schema(depth int) *apiextensionsv1.JSONSchemaProps {
	schema := &apiextensionsv1.JSONSchemaProps{}
	f.Fill(reflect.ValueOf(schema).Elem(), depth-1)
	return schema
}

func (f Filler) text() string {
	text := words[f.Intn(len(words))]
	if f.Intn(5) == 0 {
		return ""
	}
	if f.Intn(3) == 0 {
		text += words[f.Intn(len(words))]
	}
	return text
}

func (f Filler) number() int64 {
	numbers := []int64{0, 1, -1, 30, 127, 128, 300, 65535, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
	return numbers[f.Intn(len(numbers))]
}
