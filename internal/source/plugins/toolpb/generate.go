// Package toolpb is the generated code of the plugin protocol,
// toolhost.plugin.v1. Authors of Go plugins use plugins/sdk instead.
package toolpb

//go:generate protoc -I ../../../../plugins/proto --go_out=../../../.. --go_opt=module=github.com/toolhost/toolhost --go-grpc_out=../../../.. --go-grpc_opt=module=github.com/toolhost/toolhost toolhost/plugin/v1/plugin.proto
