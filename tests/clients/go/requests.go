package main

import (
	"net/http"
	"strings"
	"sync"
)

// requests remembers how collections of claims were asked for.
type requests struct {
	mutex   sync.Mutex
	lists   int
	streams int
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/"+claims.Resource) {
			r.remember(request.URL.Query().Get("watch"), request.URL.Query().Get("sendInitialEvents"))
		}
		return next.RoundTrip(request)
	})
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
