package main

import (
	"context"
	"encoding/json"
	"fmt"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// The document of OpenAPI that kubectl asks for in protobuf says what the one in JSON says.
func openapi(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	found, err := client.OpenAPISchema()
	if err != nil {
		return err
	}
	text, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return err
	}
	wanted, err := openapiv2.ParseDocument(text)
	if err != nil {
		return fmt.Errorf("the JSON: %w", err)
	}
	if err := settle(found.ProtoReflect()); err != nil {
		return err
	}
	if err := settle(wanted.ProtoReflect()); err != nil {
		return err
	}
	if len(wanted.Definitions.AdditionalProperties) == 0 {
		return fmt.Errorf("no kinds in %.100s", text)
	}
	if !proto.Equal(found, wanted) {
		return fmt.Errorf("protobuf and JSON differ: %s", difference(found, wanted))
	}
	fmt.Println("saw", len(found.Definitions.AdditionalProperties), "definitions in protobuf")
	return nil
}

// Extensions are YAML, which can be written in many ways: they become JSON.
func settle(message protoreflect.Message) error {
	if extension, ok := message.Interface().(*openapiv2.Any); ok {
		var value any
		if err := yaml.Unmarshal([]byte(extension.Yaml), &value); err != nil {
			return fmt.Errorf("%q: %w", extension.Yaml, err)
		}
		text, err := json.Marshal(value)
		extension.Yaml = string(text)
		extension.Value = nil
		return err
	}
	var failure error
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range value.List().Len() {
				if failure == nil {
					failure = settle(value.List().Get(i).Message())
				}
			}
		default:
			failure = settle(value.Message())
		}
		return failure == nil
	})
	return failure
}

// The first part of the documents that is not the same.
func difference(found, wanted *openapiv2.Document) string {
	definitions := found.Definitions.GetAdditionalProperties()
	for i, definition := range wanted.Definitions.AdditionalProperties {
		if i >= len(definitions) || !proto.Equal(definitions[i], definition) {
			return fmt.Sprintf("definition %s should be %v", definition.Name, definition)
		}
	}
	paths := found.Paths.GetPath()
	for i, path := range wanted.Paths.Path {
		if i >= len(paths) || !proto.Equal(paths[i], path) {
			return fmt.Sprintf("path %s should be %v", path.Name, path)
		}
	}
	return "elsewhere"
}
