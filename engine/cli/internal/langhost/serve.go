// Package langhost holds what the language hosts of this module have in common.
package langhost

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/logging"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// healthInterval is how often a host checks that the engine still lives.
const healthInterval = 5 * time.Minute

// Base answers the calls that do not depend on the language; all others answer Unimplemented.
type Base struct {
	pulumirpc.UnimplementedLanguageRuntimeServer

	Tracing string

	mu     sync.Mutex // guards engine, which Handshake may replace
	engine string

	programs programs
}

// Connect sets the engine's address.
func (b *Base) Connect(engineAddress string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.engine = engineAddress
}

// EngineAddress returns where the engine listens.
func (b *Base) EngineAddress() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.engine
}

// Handshake takes over the engine's address when the host was attached to rather than started.
func (b *Base) Handshake(
	_ context.Context, req *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	b.Connect(req.GetEngineAddress())
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo reports the SDK version that the host is built from.
func (b *Base) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version.Version}, nil
}

// Cancel ends the programs that still run. The engine interrupts the host's process group next, which Python would
// answer with a traceback. Plugins are left alone: one may be in the middle of a creation that the engine waits for.
func (b *Base) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	b.programs.end()
	return &emptypb.Empty{}, nil
}

// Main parses a host's flags, lets prepare make the host, and serves it until the engine goes away.
func Main(name string, prepare func(base *Base) (pulumirpc.LanguageRuntimeServer, error)) {
	base := &Base{}
	flag.StringVar(&base.Tracing, "tracing", "", "send traces to this Zipkin-compatible endpoint")
	// Engines of old passed these as flags; they come with each request now. Both are accepted and unused.
	flag.String("root", "", "ignored: sent with each request")
	flag.String("virtualenv", "", "ignored: sent with each request")
	flag.Parse()
	logging.InitLogging(false, 0, false)
	cmdutil.InitTracing(name, name, base.Tracing)
	base.Connect(flag.Arg(0))
	host, err := prepare(base)
	if err == nil {
		err = serve(base.EngineAddress(), host)
	}
	if err != nil {
		cmdutil.Exit(err)
	}
}

func serve(engineAddress string, host pulumirpc.LanguageRuntimeServer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan bool)
	go func() { <-ctx.Done(); close(stop) }()
	if engineAddress != "" {
		if err := rpcutil.Healthcheck(ctx, engineAddress, healthInterval, cancel); err != nil {
			return fmt.Errorf("watching the engine at %s: %w", engineAddress, err)
		}
	}
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: stop,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, host)
			return nil
		},
		Options: rpcutil.TracingServerInterceptorOptions(nil),
	})
	if err != nil {
		return fmt.Errorf("serving the language runtime: %w", err)
	}
	fmt.Printf("%d\n", handle.Port) // the engine reads the port from the first line
	return <-handle.Done
}
