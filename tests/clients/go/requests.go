package main

import (
	"net/http"
	"strings"
	"sync"
)

// requests remembers how collections of claims were asked for, and in which encodings answers came.
type requests struct {
	mutex   sync.Mutex
	lists   int
	streams int
	// By path.
	answers map[string][]string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/"+claims.Resource) {
			r.remember(request.URL.Query().Get("watch"), request.URL.Query().Get("sendInitialEvents"))
		}
		response, err := next.RoundTrip(request)
		if err == nil {
			r.answered(request.URL.Path, response.Header.Get("Content-Type"))
		}
		return response, err
	})
}

func (r *requests) answered(path, contentType string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.answers == nil {
		r.answers = map[string][]string{}
	}
	r.answers[path] = append(r.answers[path], contentType)
}

func (r *requests) remember(watch, sendInitialEvents string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case watch == "":
		r.lists++
	case sendInitialEvents == "true":
		r.streams++
	}
}

func (r *requests) counts() (lists, streams int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.lists, r.streams
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
