package main

type hand struct {
	schema  string
	objects []string
	// Old and new.
	updates [][2]string
}

var byHand = []hand{
	{
		schema: `{"type":"object","properties":{"spec":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer","format":"int32","minimum":0},"mode":{"type":"string","enum":["a","b"]},"tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer","maximum":5}}}}}}}}`,
		objects: []string{
			`{"spec":{"name":"x","size":-1}}`, `{"spec":{}}`, `{"spec":{"name":"x","mode":"c"}}`, `{"spec":{"name":"x","size":"string"}}`,
			`{"spec":{"name":"x","size":3000000000}}`, `{"spec":{"name":"x","size":1.5}}`, `{"spec":{"name":"x","size":2.0}}`, `{"spec":{"name":null}}`,
			`{"spec":{"name":"x","tags":["a","b","a","a","b"]}}`, `{"spec":{"name":"x","parts":[{"name":"a"},{"name":"a","n":9},{"n":1}]}}`,
			`{"spec":{"name":"x","parts":[1]}}`, `{"spec":[]}`, `{"spec":"x"}`, `{"spec":null}`, `[]`, `"x"`, `null`, `{"spec":{"name":"x","foo":{"bar":1}},"other":1,"metadata":{"foo":1}}`,
			`{"spec":{"name":"x","size":true}}`, `{"spec":{"name":"x","size":[]}}`, `{"spec":{"name":"x","mode":97}}`,
			`{"spec":{"name":"a\u00a0\u200b\u0001\"","mode":"\u2028<>&\n"}}`,
		},
		updates: [][2]string{
			{`{"spec":{"size":-1,"mode":"c"}}`, `{"spec":{"size":-1,"mode":"d"}}`},
			{`{"spec":{"size":-1}}`, `{"spec":{"size":-1}}`},
			{`{"spec":{"name":"x","parts":[{"name":"a","n":9},{"name":"b","n":9}]}}`, `{"spec":{"name":"x","parts":[{"name":"b","n":9},{"name":"a","n":10}]}}`},
			{`{"spec":{"name":"x","tags":[1]}}`, `{"spec":{"name":"x","tags":[1,2]}}`},
			{`{"spec":{"name":"x"}}`, `{"spec":{"name":"x","size":-1}}`},
			{`{"spec":{"name":"x","size":-1}}`, `{"spec":{"name":"y","size":-1,"mode":"q"}}`},
		},
	},
	{
		schema:  `{"type":"object","properties":{"p":{"x-kubernetes-int-or-string":true},"q":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+%$","minimum":1,"format":"date"}}}`,
		objects: []string{`{"p":1,"q":2}`, `{"p":"1","q":"2%"}`, `{"p":1.5,"q":0}`, `{"p":null,"q":null}`, `{"p":{},"q":[]}`, `{"p":2.0,"q":"x"}`, `{"p":true,"q":true}`},
	},
	{
		schema:  `{"type":"object","properties":{"n":{"type":"number","minimum":1.5,"maximum":2.5},"i":{"type":"integer","minimum":1.5,"multipleOf":0.5},"m":{"type":"number","multipleOf":0.1,"exclusiveMinimum":true,"minimum":0},"e":{"type":"number","enum":[1,2.5,"3"]},"f":{"type":"number","format":"float"},"l":{"type":"integer","format":"int64"}}}`,
		objects: []string{`{"n":1,"i":1,"m":0}`, `{"n":3,"i":2,"m":0.3}`, `{"n":2.6,"i":1.5,"m":0.35}`, `{"e":1.0}`, `{"e":2.5}`, `{"e":1.9}`, `{"e":3}`, `{"e":51}`, `{"f":1e39}`, `{"f":1e38,"l":1e18}`, `{"l":9223372036854775807}`, `{"l":9223372036854775808}`, `{"l":1e19}`, `{"l":9007199254740993.0}`, `{"n":1e21}`, `{"n":1000000.5}`},
	},
	{
		schema:  `{"type":"object","properties":{"a":{"type":"object","default":{"b":{}},"properties":{"b":{"type":"object","properties":{"c":{"type":"integer","default":7},"n":{"type":"string","nullable":true,"default":"x"}}}}},"l":{"type":"array","items":{"type":"object","default":{"z":1},"properties":{"d":{"type":"string","default":"dd"}},"x-kubernetes-preserve-unknown-fields":true}},"m":{"type":"object","additionalProperties":{"type":"object","default":{"k":1},"properties":{"k":{"type":"integer"},"v":{"type":"boolean","default":true}}}},"s":{"type":"array","items":{"type":"string"}},"t":{"type":"string"},"u":{"type":"string","nullable":true}}}`,
		objects: []string{`{}`, `{"a":null}`, `{"a":{}}`, `{"a":{"b":null}}`, `{"a":{"b":{"c":null,"n":null}}}`, `{"l":[null,{},{"d":null},1]}`, `{"m":{"x":null,"y":{},"z":1}}`, `{"s":[null,"a"]}`, `{"t":null,"u":null}`, `{"m":null,"l":null}`},
	},
	{
		schema: `{"type":"object","properties":{"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{"k":{"type":"string"}}},"list":{"type":"array","items":{"type":"object","properties":{"i":{"type":"string"}}}}}},"any":{"x-kubernetes-preserve-unknown-fields":true},"open":{"type":"object","additionalProperties":true},"map":{"type":"object","additionalProperties":{"type":"object","properties":{"v":{"type":"string"}}}},"lists":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}},"emb":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","properties":{"a":{"type":"string"}}}}},"embfree":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"anylist":{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","properties":{"q":{"type":"object","properties":{"w":{"type":"string"}}}}}}}}`,
		objects: []string{
			`{"free":{"x":{"y":1},"known":{"k":"a","l":1},"list":[{"i":"a","j":1}]},"any":{"a":[{"b":1}]}}`, `{"open":{"a":{"b":1},"c":[{"d":1},[{"e":1}]],"f":1}}`, `{"map":{"a":{"v":"1","w":2},"b.c":{"w":1}}}`, `{"lists":[[{"x":"1","y":2}],[1,[{"z":1}]],[{"y":{"z":1}}]]}`,
			`{"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"a":"x","b":1},"status":{}}}`, `{"emb":{}}`, `{"emb":{"apiVersion":"","kind":""}}`, `{"emb":{"apiVersion":1,"kind":[]}}`, `{"emb":{"apiVersion":"a/b/c","kind":"a_b"}}`, `{"emb":{"apiVersion":"v1","kind":"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ"}}`,
			`{"emb":{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":1}}}}`, `{"emb":{"apiVersion":"v1","kind":"A","metadata":{"name":1}}}`, `{"emb":{"apiVersion":"v1","kind":"A","metadata":[]}}`, `{"emb":{"apiVersion":"v1","kind":"A","metadata":{"finalizers":"x"}}}`, `{"embfree":{"apiVersion":"v1","kind":"A","x":{"y":1}}}`,
			`{"anylist":[{"a":1,"q":{"w":"1","v":2}}],"metadata":{"x":1},"kind":"K","status":{"a":1}}`,
		},
	},
	{
		schema:  `{"type":"object","properties":{"v":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}},"oneOf":[{"required":["a"],"properties":{"a":{"minimum":1}}},{"required":["b"],"properties":{"b":{"minLength":2}}},{"required":["c"]}]},"w":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"anyOf":[{"required":["a","b"]},{"properties":{"a":{"minimum":1,"maximum":0},"b":{"pattern":"x"}}}]},"x":{"type":"string","allOf":[{"minLength":1},{"maxLength":0},{"enum":["a"]}],"not":{"pattern":"^q"}},"y":{"type":"array","items":{"type":"integer"},"not":{"items":{"minimum":3}},"anyOf":[{"minItems":2,"items":{"maximum":1}},{"maxItems":0}]}}}`,
		objects: []string{`{"v":{}}`, `{"v":{"a":0}}`, `{"v":{"a":0,"b":"x"}}`, `{"v":{"a":1,"c":true}}`, `{"v":{"a":1,"b":"xx","c":true}}`, `{"v":{"a":1}}`, `{"w":{}}`, `{"w":{"a":1}}`, `{"w":{"b":"y","a":2}}`, `{"w":{"b":"y"}}`, `{"x":""}`, `{"x":"q"}`, `{"x":"abc"}`, `{"x":1}`, `{"y":[]}`, `{"y":[1,2]}`, `{"y":[5,6]}`, `{"y":[4]}`},
	},
	{
		schema:  `{"type":"object","properties":{"s":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true},"x-kubernetes-list-type":"set"},"u":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true},"uniqueItems":true},"k":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]},"kk":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"]},"mm":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},"properties":{"p":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}}}`,
		objects: []string{`{"s":[1,1.0,1,"1",null,null,true,true]}`, `{"s":[{"a":1},{"a":1.0},[1],[1]]}`, `{"u":[1,1.0]}`, `{"u":[{"a":1},{"a":1.0}]}`, `{"u":[{"a":[1]},{"a":[1]}]}`, `{"u":[null,null]}`, `{"u":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,{"a":1},{"a":1.0}]}`, `{"u":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"x",7]}`, `{"k":[{},null,{"a":null},{"a":null},{"b":1}]}`, `{"k":[{"a":{"x":1}},{"a":{"x":1}},{"a":[]},{"a":[]}]}`, `{"kk":[{},null,{"a":1},{"a":1,"c":1},{"a":1,"b":2},{"b":2,"a":1}]}`, `{"kk":[1,{}]}`, `{"mm":{"x":["a","a"],"p":["b","b"]}}`},
	},
	{
		schema:  `{"type":"object","properties":{"d":{"type":"string","format":"date"},"t":{"format":"date-time","x-kubernetes-preserve-unknown-fields":true},"n":{"type":"string","minLength":2,"maxLength":3,"pattern":"^é"},"o":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"minProperties":1,"maxProperties":1},"x":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":1},"en":{"type":"string","nullable":true,"enum":["a",null]},"eo":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"enum":[{"a":1},{"a":[1.5]}]}}}`,
		objects: []string{`{"d":"2020-01-01"}`, `{"d":"x"}`, `{"d":1}`, `{"d":[]}`, `{"d":{}}`, `{"d":true}`, `{"d":1.5}`, `{"t":1}`, `{"t":"x"}`, `{"t":[]}`, `{"t":{}}`, `{"n":"é"}`, `{"n":"ééé"}`, `{"n":"éééé"}`, `{"n":"ab"}`, `{"o":{}}`, `{"o":{"a":"x","b":1}}`, `{"o":{"b":1}}`, `{"x":["a"]}`, `{"x":["a","b"]}`, `{"en":null}`, `{"en":"b"}`, `{"eo":{"a":1}}`, `{"eo":{"a":1.0}}`, `{"eo":{"a":[1.5]}}`, `{"eo":{}}`},
	},
}
