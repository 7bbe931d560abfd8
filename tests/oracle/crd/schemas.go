package main

// Keywords that are put into schemas one at a time.
var keywords = []string{
	`id="x"`, `$schema="x"`, `$ref="x"`, `$ref=""`, `title="t"`, `description="d"`, `nullable=true`, `format="date"`, `format="int32"`,
	`default=1`, `default="x"`, `default={}`, `default={"a":1}`, `default=[]`, `default=null`, `maximum=3`, `minimum=1.5`, `pattern="("`, `pattern="^a"`, `uniqueItems=true`,
	`enum=[1,"a",null]`, `required=["a"]`, `items={"type":"string"}`, `items=[{"type":"string"}]`, `items=[]`, `allOf=[{"required":["a"]}]`, `allOf=[{"type":"string"}]`,
	`anyOf=[{"properties":{"zzz":{}}}]`, `oneOf=[{"minimum":1},{"minimum":2}]`, `not={"required":["a"]}`, `not={"description":"x"}`, `properties={"a":{"type":"string"}}`,
	`additionalProperties=true`, `additionalProperties=false`, `additionalProperties={"type":"string"}`, `additionalProperties={"type":"string","default":"x"}`, `patternProperties={"a":{"type":"string"}}`, `patternProperties={}`,
	`dependencies={}`, `dependencies={"a":["b"]}`, `dependencies={"a":{"type":"string"}}`, `additionalItems=false`, `additionalItems={"type":"string"}`, `definitions={"a":{"type":"strange"}}`, `definitions={}`,
	`externalDocs={"url":"x"}`, `example={"a":1}`, `x-kubernetes-preserve-unknown-fields=true`, `x-kubernetes-preserve-unknown-fields=false`,
	`x-kubernetes-embedded-resource=true`, `x-kubernetes-int-or-string=true`, `x-kubernetes-list-map-keys=["a"]`, `x-kubernetes-list-map-keys=["name","name"]`, `x-kubernetes-list-type="map"`, `x-kubernetes-list-type="set"`,
	`x-kubernetes-list-type="atomic"`, `x-kubernetes-list-type="other"`, `x-kubernetes-map-type="granular"`, `x-kubernetes-map-type="atomic"`, `x-kubernetes-map-type="other"`, `type="null"`, `minProperties=1`, `maxLength=5`,
}

// Whole schemas.
var schemas = []string{
	`{}`, `{"type":"object"}`, `{"type":"string"}`, `{"type":"object","nullable":true}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
	`{"type":"object","additionalProperties":true}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}`,
	`{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"x"}}}}}`,
	`{"type":"object","properties":{"kind":{"type":"string","default":"x"},"apiVersion":{"type":"string","default":"g/v/x"}}}`,
	`{"type":"object","properties":{"kind":{"type":"integer"}}}`, `{"type":"object","x-kubernetes-embedded-resource":true}`,
	`{"type":"object","default":{"kind":"A","apiVersion":"v1"}}`, `{"type":"object","default":{"a":1}}`, `{"type":"object","enum":[{"a":1}]}`, `{"type":"object","enum":[]}`,
	`{"type":"object","minProperties":1,"title":"t<b>","example":{"a":1},"externalDocs":{"url":"u"},"properties":{"a":{"type":"array","items":{"type":"string","default":"x"}}}}`,
	`{"type":"object","maxProperties":1,"required":["a"],"not":{"required":["b"]},"dependencies":{"a":["b"],"c":{"type":"string"}},"x-kubernetes-validations":[{"rule":"true","reason":"FieldValueInvalid"}]}`,
	`{"type":"object","allOf":[{"properties":{"a":{"minimum":1}}}],"properties":{"a":{"type":"integer"}}}`, `{"type":"object","$schema":"x"}`,
	`{"type":"object","properties":{"metadata":{"type":"object","x-kubernetes-embedded-resource":true}}}`,
	`{"type":"object","properties":{"a":{"type":"object","$schema":"x"}}}`,
}

// Schemas of a field.
var properties = []string{
	`{"type":"string","default":1}`, `{"type":"integer","default":"x"}`, `{"type":"integer","default":1.0}`, `{"type":"integer","default":1.5}`, `{"type":"string","default":""}`, `{"type":"string","enum":["a"],"default":"b"}`,
	`{"type":"string","maxLength":2,"default":"abc"}`, `{"type":"string","format":"date","default":"x"}`, `{"type":"object","default":{}}`, `{"type":"object","default":{"a":1}}`,
	`{"type":"object","properties":{"a":{"type":"string"}},"default":{"a":1,"b":2}}`, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"default":{}}`,
	`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}},"default":[{"a":1},{"b":2},{"a":"x"}]}`,
	`{"type":"array","items":{"type":"string","default":1},"default":["a"]}`, `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"a":1}}`,
	`{"type":"object","additionalProperties":{"type":"integer"},"default":{"a":"x"}}`, `{"type":"object","additionalProperties":{"type":"integer","default":"x"}}`,
	`{"type":"string","nullable":true,"default":null}`, `{"x-kubernetes-int-or-string":true,"default":true}`, `{"x-kubernetes-int-or-string":true,"default":"10%"}`,
	`{"x-kubernetes-preserve-unknown-fields":true,"default":[1,{"a":2}]}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"kind":"Pod"}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":"a/b/c","kind":"a.b","metadata":{"name":"a/b","labels":{"a b":"c"}}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":1}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":{"apiVersion":1,"kind":"Pod"}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","default":"a/b"},"labels":{"type":"object","additionalProperties":{"type":"string","default":"x"}},"finalizers":{"type":"array","items":{"type":"string","default":"noslash"}}}}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"kind":{"type":"string","default":"a.b"},"apiVersion":{"type":"string","default":"v1"},"metadata":{"type":"object","default":{"name":"x","labels":{"a":1}}}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":2,"default":"abc"}}}}}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"metadata":{"type":"object","properties":{"x":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"a":{"type":"string"}}}}}}}`,
	`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}}`, `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","x-kubernetes-map-type":"atomic"}}`,
	`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}`,
	`{"type":"array","x-kubernetes-list-type":"set","items":{"type":"array","items":{"type":"string"}}}`, `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","nullable":true}}`,
	`{"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}}`, `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"type":"string"}}`,
	`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b","a"],"items":{"type":"object","nullable":true,"required":["a"],"properties":{"a":{"type":"object","nullable":true}}}}`,
	`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}`,
	`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}`, `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":[{"type":"string"}]}`,
	`{"type":"array","x-kubernetes-list-map-keys":["a"],"items":{"type":"string"}}`, `{"type":"string","x-kubernetes-list-type":"set"}`, `{"type":"string","x-kubernetes-map-type":"atomic"}`,
	`{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-list-type":"set"}`, `{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-map-type":"atomic"}`,
	`{"type":"array","items":{"type":"strange","default":1}}`, `{"type":"string","pattern":"a("}`, `{"type":"string","anyOf":[{"pattern":"("}]}`,
	`{"type":"object","anyOf":[{"uniqueItems":true,"$ref":"x","x-kubernetes-preserve-unknown-fields":false}]}`,
	`{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":5}}}}}`,
	`{"type":"array","default":[[1]],"items":{"type":"array","maxItems":0,"items":{"type":"integer"}}}`, `{"type":"number","default":1,"maximum":0.5}`, `{"type":"boolean","default":"true"}`,
}

// Rules in CEL. All of them compile but for one.
var rules = []string{
	`{"rule":"self.a > 1"}`, `{"rule":""}`, `{"rule":"   "}`, `{"rule":"true","message":" "}`, `{"rule":"true","message":"a\nb"}`, `{"rule":"true &&\ntrue"}`, `{"rule":"true &&\ntrue","message":"m"}`,
	`{"rule":"true","messageExpression":" "}`, `{"rule":"true","messageExpression":"'a'"}`, `{"rule":"true","reason":"FieldValueForbidden"}`, `{"rule":"true","reason":"Other"}`,
	`{"rule":"true","fieldPath":".a"}`, `{"rule":"true","fieldPath":" "}`, `{"rule":"true","fieldPath":".a\n"}`, `{"rule":"true","fieldPath":".z"}`, `{"rule":"true","fieldPath":"a"}`, `{"rule":"true","fieldPath":".b.x"}`,
	`{"rule":"true","fieldPath":".b['x']"}`, `{"rule":"true","fieldPath":"['c.d']"}`, `{"rule":"true","fieldPath":"['c.d"}`, `{"rule":"true","fieldPath":"['c.d'"}`, `{"rule":"true","fieldPath":"[c]"}`, `{"rule":"true","fieldPath":".b['a\\q']"}`, `{"rule":"true","fieldPath":".b['a\\n']"}`,
	`{"rule":"self.nothing > 1"}`,
}
