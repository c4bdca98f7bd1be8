// Command oldplugin is a plugin of protocol version 1 only. It is kept unchanged, and shares no code
// with toolhost: it writes and reads version 1's messages by field numbers. So it shows whether a newer
// host would break existing plugins.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"context"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func main() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: "TOOLHOST_PLUGIN",
			MagicCookieValue: "toolhost.plugin"},
		VersionedPlugins: map[int]goplugin.PluginSet{1: {"toolhost": service{}}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.ForceServerCodec(codec{}))...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

// raw is an encoded message.
type raw []byte

// codec passes raw messages unchanged; go-plugin's own are encoded.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return proto.Marshal(m)
	}
	return *v.(*raw), nil
}

func (codec) Unmarshal(data []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return proto.Unmarshal(data, m)
	}
	*v.(*raw) = append(raw(nil), data...)
	return nil
}

func (m raw) field(number protowire.Number, value []byte) raw {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
}

func (m raw) text(number protowire.Number, value string) raw { return m.field(number, []byte(value)) }

func (m raw) flag(number protowire.Number) raw {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), 1)
}

// get returns the last length-delimited field of that number, or nil.
func (m raw) get(number protowire.Number) (value raw) {
	for rest := []byte(m); len(rest) > 0; {
		n, kind, size := protowire.ConsumeTag(rest)
		if size < 0 {
			return value
		}
		rest = rest[size:]
		length := protowire.ConsumeFieldValue(n, kind, rest)
		if length < 0 {
			return value
		}
		if n == number && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(rest)
			value = append(raw{}, value...)
		}
		rest = rest[length:]
	}
	return value
}

func tool(name, description, parameters string) raw {
	return raw(nil).text(1, name).text(3, description).text(5, parameters).text(7, "read_only").flag(10)
}

func description() raw {
	d := raw(nil).text(1, "old").text(2, "0.9.0").
		field(4, tool("old_greet", "Greet as in the old days. Returns: the greeting.",
			`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)).
		field(4, tool("old_count", "Count the calls. Returns: how many there were.",
			`{"type":"object","additionalProperties":false}`))
	return raw(nil).field(1, d)
}

type service struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is the plugin's side")
}

func (service) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "toolhost.plugin.v1.Plugin",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Describe", Handler: answer(description())},
			{MethodName: "Configure", Handler: answer(description())},
		},
		Streams: []grpc.StreamDesc{{StreamName: "Call", Handler: call, ServerStreams: true, ClientStreams: true}},
	}, struct{}{})
	return nil
}

func answer(response raw) func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request raw
		return &response, decode(&request)
	}
}

func call(_ any, stream grpc.ServerStream) error {
	var first raw
	if err := stream.RecvMsg(&first); err != nil {
		return err
	}
	start := first.get(1)
	fmt.Fprintln(os.Stderr, "old plugin: called", string(start.get(1)))
	progress := raw(nil).field(1, raw(nil).text(3, "halfway"))
	if err := stream.SendMsg(&progress); err != nil {
		return err
	}
	text := "Good day, " + string(start.get(5)) + "."
	if string(start.get(1)) == "old_count" {
		n, err := count(stream)
		if err != nil {
			return err
		}
		text = n
	}
	result := raw(nil).field(4, raw(nil).field(1, raw(nil).text(1, "text").text(2, text)))
	return stream.SendMsg(&result)
}

// count gets a value of the session's state and appends an x, which version 1 allows undeclared.
func count(stream grpc.ServerStream) (string, error) {
	got, err := state(stream, 1, raw(nil).field(2, raw(nil).text(1, "calls")))
	if err != nil {
		return "", err
	}
	value := string(got.get(1)) + "x"
	_, err = state(stream, 2, raw(nil).field(3, raw(nil).text(1, "calls").text(2, value)))
	return value, err
}

func state(stream grpc.ServerStream, id uint64, operation raw) (raw, error) {
	request := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id)
	message := raw(nil).field(3, raw(request).field(5, append(raw(nil).text(1, "session"), operation...)))
	if err := stream.SendMsg(&message); err != nil {
		return nil, err
	}
	var reply raw
	if err := stream.RecvMsg(&reply); err != nil {
		return nil, err
	}
	response := reply.get(3)
	if failure := response.get(2); failure != nil {
		return nil, errors.New(string(failure.get(2)))
	}
	if response == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return response.get(6), nil
}
