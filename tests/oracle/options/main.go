// Command options records what Kubernetes makes of the options of a request: what it reads from the query or the body, or the
// status with which it refuses them.
package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/apihelpers"
)

type row struct {
	Operation string         `json:"op"`
	Query     string         `json:"query"`
	Body      string         `json:"body,omitempty"`
	Value     any            `json:"value,omitempty"`
	Status    *metav1.Status `json:"status,omitempty"`
}

type list struct {
	Watch     bool   `json:"watch,omitempty"`
	Bookmarks bool   `json:"bookmarks,omitempty"`
	Initial   *bool  `json:"initial,omitempty"`
	RV        string `json:"rv,omitempty"`
	Match     string `json:"match,omitempty"`
	Timeout   *int64 `json:"timeout,omitempty"`
	Limit     int64  `json:"limit,omitempty"`
	WithRev   int64  `json:"withRev,omitempty"`
	Continue  string `json:"continue,omitempty"`
}

var rows []row

func record(operation, query, body string, value any, err error) {
	out := row{Operation: operation, Query: query, Body: body}
	if err != nil {
		status := err.(errors.APIStatus).Status()
		out.Status = &status
	} else {
		out.Value = value
	}
	rows = append(rows, out)
}

func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func decode(query string, into runtime.Object) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	if err := scheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, into); err != nil {
		return errors.NewBadRequest(err.Error())
	}
	return nil
}

func recordList(query string) {
	options := metainternalversion.ListOptions{}
	if err := decode(query, &options); err != nil {
		record("list", query, "", nil, err)
		return
	}
	metainternalversion.SetListOptionsDefaults(&options, true)
	if err := invalid("ListOptions", internalvalidation.ValidateListOptions(&options, true)); err != nil {
		record("list", query, "", nil, err)
		return
	}
	out := list{options.Watch, options.AllowWatchBookmarks, options.SendInitialEvents, options.ResourceVersion, string(options.ResourceVersionMatch), options.TimeoutSeconds, options.Limit, 0, ""}
	versioner := storage.APIObjectVersioner{}
	var err error
	if options.Watch {
		_, err = versioner.ParseResourceVersion(options.ResourceVersion)
		if err != nil {
			// Nobody interprets it, so it is answered as any error that is no status.
			err = &errors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: err.Error()}}
		}
	} else {
		out.WithRev, out.Continue, err = storage.ValidateListOptions("/prefix/", versioner, storage.ListOptions{
			ResourceVersion: options.ResourceVersion, ResourceVersionMatch: options.ResourceVersionMatch, Recursive: true,
			Predicate: storage.SelectionPredicate{Limit: options.Limit, Continue: options.Continue},
		})
	}
	record("list", query, "", out, err)
}

func recordDelete(query, body string) {
	options := &metav1.DeleteOptions{}
	var err error
	if body != "" {
		info, _ := runtime.SerializerInfoForMediaType(apihelpers.GetMetaInternalVersionCodecs().SupportedMediaTypes(), "application/json")
		kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		_, _, err = apihelpers.GetMetaInternalVersionCodecs().DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode([]byte(body), &kind, options)
		if err != nil {
			err = errors.NewBadRequest(err.Error())
		}
	} else {
		err = decode(query, options)
	}
	if err == nil {
		options.IgnoreStoreReadErrorWithClusterBreakingPotential = nil
		err = invalid("DeleteOptions", validation.ValidateDeleteOptions(options))
	}
	options.TypeMeta = metav1.TypeMeta{}
	record("delete", query, body, options, err)
}

func main() {
	token := func(text string) string {
		out, err := storage.EncodeContinue("/prefix/"+text+"\x00", "/prefix/", 7)
		if err != nil {
			panic(err)
		}
		return out
	}
	for _, watch := range []string{"", "watch=1&"} {
		for _, rv := range []string{"", "resourceVersion=0&", "resourceVersion=5&"} {
			for _, match := range []string{"", "resourceVersionMatch=Exact&", "resourceVersionMatch=NotOlderThan&", "resourceVersionMatch=Other&", "resourceVersionMatch=&"} {
				for _, initial := range []string{"", "sendInitialEvents=true&", "sendInitialEvents=false&"} {
					for _, limit := range []string{"", "limit=2&"} {
						for _, next := range []string{"", "continue=" + token("ns/a") + "&"} {
							recordList(watch + rv + match + initial + limit + next)
						}
					}
				}
			}
		}
	}
	for _, query := range []string{
		"", "unknown=1", "limit=", "limit=x", "limit=-3", "limit=+4", "limit=1_0", "limit=0x1", "limit=9223372036854775807", "limit=9223372036854775808", "limit=-9223372036854775808", "limit=-9223372036854775809",
		"limit=99999999999999999999x", "limit=9999999999999999999x", "limit=1&limit=x", "limit=%22a%5C%C3%A9%07%22", "limit=+", "limit=-", "timeoutSeconds=x&limit=y", "timeoutSeconds=5", "timeoutSeconds=-5", "timeoutSeconds=0",
		"timeoutSeconds=", "timeoutSeconds=1.5", "watch=1&timeoutSeconds=7", "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "watch=1&allowWatchBookmarks=false",
		"watch=1&allowWatchBookmarks=0&resourceVersion=00", "watch=1&resourceVersion=abc", "watch=1&resourceVersion=-1", "watch=1&resourceVersion=18446744073709551616", "watch=1&resourceVersion=18446744073709551615",
		"resourceVersion=abc", "resourceVersion=-1", "resourceVersion=%2B1", "resourceVersion=1.0", "resourceVersion=007", "resourceVersion=007&limit=1", "resourceVersion=00", "resourceVersion=00&limit=1",
		"resourceVersion=18446744073709551615&limit=1", "resourceVersion=18446744073709551616", "resourceVersion=9223372036854775807&resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=exact", "resourceVersion=%20",
		"continue=abc", "continue=!", "continue=e30", "continue=" + token("a") + "&resourceVersion=abc", "continue=" + token("a") + "&resourceVersion=00", "continue=", "sendInitialEvents=", "watch=1&sendInitialEvents=",
		"watch=1&sendInitialEvents=0&resourceVersionMatch=NotOlderThan", "watch=1&sendInitialEvents=FALSE&resourceVersionMatch=NotOlderThan&resourceVersion=0", "resourceVersionMatch=a%22b", "resourceVersionMatch=a%3Cb",
		"dryRun=x", "fieldManager=x", "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx",
	} {
		recordList(query)
	}

	for _, query := range []string{
		"", "dryRun=All", "dryRun=all", "dryRun=", "dryRun", "dryRun=All&dryRun=All", "dryRun=All&dryRun=x", "dryRun=a&dryRun=b", "dryRun=%3C%22", "fieldManager=me", "fieldManager=", "fieldManager=a&fieldManager=b", "fieldManager=a%07b",
		"fieldManager=%0A%00", "fieldManager=%C3%A9", "fieldManager=%E2%80%8B", "fieldManager=a%C2%A0b", "fieldManager=%F3%A0%80%81", "fieldManager=" + longText(128), "fieldManager=" + longText(129), "fieldManager=" + longText(128) + "%0A",
		"fieldValidation=Strict", "fieldValidation=Warn", "fieldValidation=Ignore", "fieldValidation=", "fieldValidation=strict", "fieldValidation=x&dryRun=y&fieldManager=%01", "force=true", "force=false", "force", "force=0&fieldManager=a",
		"force=true&fieldManager=a&dryRun=All&fieldValidation=Strict", "limit=x", "pretty=true",
	} {
		{
			options := &metav1.CreateOptions{}
			err := decode(query, options)
			if err == nil {
				err = invalid("CreateOptions", validation.ValidateCreateOptions(options))
			}
			record("create", query, "", options, err)
		}
		{
			options := &metav1.UpdateOptions{}
			err := decode(query, options)
			if err == nil {
				err = invalid("UpdateOptions", validation.ValidateUpdateOptions(options))
			}
			record("update", query, "", options, err)
		}
		for _, kind := range []types.PatchType{types.MergePatchType, types.ApplyYAMLPatchType} {
			name := "patch"
			if kind == types.ApplyYAMLPatchType {
				name = "apply"
			}
			options := &metav1.PatchOptions{}
			err := decode(query, options)
			if err == nil {
				err = invalid("PatchOptions", validation.ValidatePatchOptions(options, kind))
			}
			record(name, query, "", options, err)
		}
	}

	for _, query := range []string{
		"", "gracePeriodSeconds=0", "gracePeriodSeconds=-1", "gracePeriodSeconds=", "gracePeriodSeconds=x", "orphanDependents=true", "orphanDependents=0", "orphanDependents", "propagationPolicy=Orphan", "propagationPolicy=Foreground",
		"propagationPolicy=Background", "propagationPolicy=", "propagationPolicy=orphan", "propagationPolicy=Orphan&orphanDependents=true", "propagationPolicy=x&orphanDependents=false", "dryRun=All", "dryRun=None", "uid=abc", "uid=",
		"resourceVersion=5", "uid=a&resourceVersion=b", "resourceVersion=", "preconditions=x", "dryRun=x&propagationPolicy=y", "ignoreStoreReadErrorWithClusterBreakingPotential=true&dryRun=All",
	} {
		recordDelete(query, "")
	}
	for _, body := range []string{
		`{}`, `{"gracePeriodSeconds":0}`, `{"gracePeriodSeconds":-5}`, `{"gracePeriodSeconds":"5"}`, `{"gracePeriodSeconds":1.5}`, `{"gracePeriodSeconds":1e2}`, `{"gracePeriodSeconds":9223372036854775808}`, `{"gracePeriodSeconds":null}`,
		`{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":""}`, `{"propagationPolicy":"x"}`, `{"propagationPolicy":5}`, `{"propagationPolicy":null}`, `{"orphanDependents":true}`, `{"orphanDependents":"true"}`,
		`{"orphanDependents":false,"propagationPolicy":"Orphan"}`, `{"preconditions":{}}`, `{"preconditions":null}`, `{"preconditions":{"uid":"a"}}`, `{"preconditions":{"uid":"","resourceVersion":"5"}}`, `{"preconditions":{"uid":5}}`,
		`{"preconditions":[]}`, `{"dryRun":["All"]}`, `{"dryRun":[]}`, `{"dryRun":["All","x"]}`, `{"dryRun":"All"}`, `{"dryRun":null}`, `{"dryRun":[5]}`, `{"unknown":5}`, `{"GracePeriodSeconds":5}`,
		`{"kind":"DeleteOptions","apiVersion":"v1"}`, `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":1}`, `{"kind":"DeleteOptions","apiVersion":"apps/v1"}`, `{"kind":"DeleteOptions"}`, `{"apiVersion":"v1"}`,
		`{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"Status","apiVersion":"v1"}`, `{"kind":"DeleteOptions","apiVersion":"a/b/c"}`, `{"kind":"DeleteOptions","apiVersion":"example.dev/v1"}`, `{"kind":5}`, `[]`, `null`, `5`, `"x"`,
		`{"ignoreStoreReadErrorWithClusterBreakingPotential":true,"dryRun":["All"]}`, `{"ignoreStoreReadErrorWithClusterBreakingPotential":"x"}`,
	} {
		recordDelete("gracePeriodSeconds=77", body)
	}

	for _, text := range []string{
		"0", "+0", "-0", "5", "5s", "-5s", "+5s", "1.5h", "1h2m3s4ms5us6ns", "1µs", "1μs", ".5s", "5.s", ".s", ".", "s", "", "-", "+", "1x", "1 s", "1S", "3000000h", "2562047h47m16.854775807s", "2562047h47m16.854775808s",
		"-2562047h47m16.854775808s", "9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns", "99999999999999999999s", "0.100000000000000000000h", "0.9223372036854775807h", "1s1", "1h-2m", "\"", "\\", "é", "1é", "\n", "1e3s", "34s", "0.0000000001s",
	} {
		out := row{Operation: "timeout", Query: "timeout=" + url.QueryEscape(text)}
		if duration, err := time.ParseDuration(text); text == "" {
		} else if err != nil {
			status := errors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %s", err.Error())).Status()
			out.Status = &status
		} else {
			out.Value = duration.Nanoseconds()
		}
		rows = append(rows, out)
	}
	for _, text := range []string{"true", "1", "t", "T", "TRUE", "True", "false", "0", "f", "F", "FALSE", "False", "tRUE", "yes", "2"} {
		pretty, _ := strconv.ParseBool(text)
		rows = append(rows, row{Operation: "pretty", Query: "pretty=" + text, Value: pretty})
	}

	fmt.Print("[")
	for i, row := range rows {
		if i > 0 {
			fmt.Print(",")
		}
		_ = json.NewEncoder(os.Stdout).Encode(row)
	}
	fmt.Println("]")
}

func longText(length int) string {
	out := make([]byte, length)
	for i := range out {
		out[i] = 'm'
	}
	return string(out)
}
