package main

var bases = map[string]string{
	"plain": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.dev","resourceVersion":"1"},
"spec":{"group":"example.dev","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","shortNames":["wd"],"categories":["all"]},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`,

	"rich": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.dev","resourceVersion":"1","labels":{"a":"b"}},
"spec":{"group":"example.dev","scope":"Cluster","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},"conversion":{"strategy":"None"},
"versions":[{"name":"v1","served":true,"storage":true,"deprecated":true,"deprecationWarning":"use another",
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"additionalPrinterColumns":[{"name":"Size","type":"integer","format":"int32","description":"how large","priority":1,"jsonPath":".spec.size"},{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}],
"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.size"}],
"schema":{"openAPIV3Schema":{"type":"object","description":"a gadget","required":["spec"],
"properties":{
"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":10}}},
"spec":{"type":"object","required":["color"],"properties":{
"color":{"type":"string","enum":["red","green"],"default":"red"},
"size":{"type":"integer","format":"int32","minimum":0,"maximum":100},
"weight":{"type":"number","multipleOf":0.5,"exclusiveMinimum":true,"minimum":0},
"port":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"default":80},
"tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string","pattern":"^[a-z]+$"},"maxItems":5},
"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"count":{"type":"integer","default":1}}}},
"labels":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}},"spec":{"type":"object","properties":{"x":{"type":"string"}}}}},
"note":{"type":"string","nullable":true,"default":"n"},
"nested":{"type":"object","properties":{"on":{"type":"boolean","default":true},"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}}}}
}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"}}}}}}}]}}`,

	"versions": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.dev","resourceVersion":"1"},
"spec":{"group":"example.dev","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
"versions":[
{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".spec.a"}],"selectableFields":[{"jsonPath":".spec.a"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}}}},
{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"x"}}}}}}}]},
"status":{"storedVersions":["v1beta1","v1"],"acceptedNames":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}}`,

	"protected": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.sig.k8s.io","resourceVersion":"1","annotations":{"api-approved.kubernetes.io":"https://github.com/kubernetes/kubernetes/pull/1"}},
"spec":{"group":"sig.k8s.io","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
}

// Definitions that leave out what has a default.
var incomplete = []string{
	bases["plain"],
	bases["rich"],
	bases["versions"],
	`{"spec":{"names":{"kind":"X"}}}`,
	`{"spec":{"names":{"kind":"ÄÖ","singular":"s","listKind":"L"},"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"name":"s","namespace":"n"}},"conversionReviewVersions":["v1"]}}}}`,
	`{"spec":{"names":{},"versions":[{"name":"v1"},{"name":"v2","storage":true},{"name":"v3","storage":true}]}}`,
	`{"spec":{"names":{},"versions":[{"name":"v1","storage":true}]},"status":{"storedVersions":[]}}`,
	`{"spec":{"names":{},"versions":[{"name":"v1","storage":true}]},"status":{"storedVersions":["v0"]}}`,
	`{"spec":{"names":{},"conversion":{}}}`,
}
