//go:build tools

// Package tools keeps the programs that tests run in go.mod; nothing else is built from this module.
package tools

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
