// Command pulumi-language-python runs Pulumi programs, component plugins and policy packs written in Python.
//
// It is the language host that the Pulumi engine starts for `runtime: python`. The official host's module is not
// served by the Go module proxy, so this one implements the same gRPC service on the public SDK packages.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/cmdutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/logging"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// healthInterval is how often the host checks that the engine still lives.
const healthInterval = 5 * time.Minute

func main() {
	tracing := flag.String("tracing", "", "send traces to this Zipkin-compatible endpoint")
	executor := flag.String("use-executor", "", "run programs by this script, not the one beside the host")
	// The engine of old passed these as flags; it sends them in each request now. Both are accepted and unused.
	flag.String("root", "", "ignored: sent in each request")
	flag.String("virtualenv", "", "ignored: sent in each request")
	flag.Parse()
	logging.InitLogging(false, 0, false)
	cmdutil.InitTracing("pulumi-language-python", "pulumi-language-python", *tracing)
	if err := serve(flag.Arg(0), *executor, *tracing); err != nil {
		cmdutil.Exit(err)
	}
}

// serve answers the engine at engineAddress until it goes away.
func serve(engineAddress, executor, tracing string) error {
	executor, err := findExecutor(executor)
	if err != nil {
		return err
	}
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
			pulumirpc.RegisterLanguageRuntimeServer(server, &host{executor: executor, engine: engineAddress, tracing: tracing})
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

// findExecutor returns the Python script that sets a program up and runs it.
func findExecutor(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("locating the language host: %w", err)
	}
	script := filepath.Join(filepath.Dir(self), "pulumi-language-python-exec")
	if _, err := os.Stat(script); err != nil {
		return "", fmt.Errorf("missing executor %s beside the language host; run scripts/engine again: %w", script, err)
	}
	return script, nil
}
