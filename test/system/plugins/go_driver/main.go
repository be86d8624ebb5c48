// A task driver as Nomad's are: a program of go-plugin's. Its tasks are shells, which outlive it. Where
// Nomad's own library would be, this speaks gRPC by the descriptions in runtime/plugin/bridge/proto.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"example.org/nomad-driver-gonaps/wire"
)

// What is wrong with it, for tests of what an agent makes of that.
var wrong = flag.String("wrong", "", "type, api, schema, dies, handle, protocol")

type served struct {
	plugin.NetRPCUnsupportedPlugin
	driver *driver
}

func (s *served) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	d := s.driver
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hashicorp.nomad.plugins.base.proto.BasePlugin",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("PluginInfo", d.pluginInfo),
			unary("ConfigSchema", d.configSchema),
			unary("SetConfig", d.setConfig),
		},
	}, d)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hashicorp.nomad.plugins.drivers.proto.Driver",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("TaskConfigSchema", d.taskConfigSchema),
			unary("Capabilities", d.capabilities),
			unary("StartTask", d.startTask),
			unary("RecoverTask", d.recoverTask),
			unary("WaitTask", d.waitTask),
			unary("StopTask", d.stopTask),
			unary("DestroyTask", d.destroyTask),
			unary("SignalTask", d.signalTask),
		},
		Streams: []grpc.StreamDesc{
			answers("Fingerprint", d.fingerprint),
			answers("TaskEvents", d.taskEvents),
			answers("TaskStats", d.taskStats),
			{StreamName: "ExecTaskStreaming", ServerStreams: true, ClientStreams: true,
				Handler: func(_ any, stream grpc.ServerStream) error { return d.exec(stream) }},
		},
	}, d)
	return nil
}

func (s *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("this is the server")
}

func unary[Request, Response any](name string, answer func(*Request) (*Response, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		request := new(Request)
		if err := decode(request); err != nil {
			return nil, err
		}
		return answer(request)
	}}
}

func answers[Request, Response any](name string, answer func(context.Context, *Request, func(*Response) error) error) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		request := new(Request)
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		return answer(stream.Context(), request, func(response *Response) error { return stream.SendMsg(response) })
	}}
}

// recoverable is how Nomad's library says whether another try may do.
func recoverable(code int, text string, again bool) error {
	made, err := status.New(9, text).WithDetails(&wire.RecoverableError{Recoverable: again})
	if err != nil {
		panic(err)
	}
	return made.Err()
}

func main() {
	flag.Parse()
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: os.Stderr, JSONFormat: true})
	if *wrong == "dies" {
		panic("I have a bad day")
	}
	d := newDriver(logger)
	version := uint(2)
	if *wrong == "protocol" {
		version = 7
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  version,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		Plugins:    map[string]plugin.Plugin{"driver": &served{driver: d}},
		GRPCServer: plugin.DefaultGRPCServer,
		Logger:     logger,
	})
}
