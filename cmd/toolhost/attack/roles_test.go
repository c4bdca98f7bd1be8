package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/plugins/sdk"
)

func play(role string) {
	switch role {
	case "plugin":
		sdk.Serve(evilPlugin())
	case "liar":
		sdk.Serve(liar())
	case "named":
		sdk.Serve(namedPlugin())
	case "prompts":
		servePrompts()
	case "loud":
		serveLoudly()
	case "mcp":
		serveEvilMCP()
	case "exits":
		fmt.Fprintln(os.Stderr, "no data here")
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	case "wrong version":
		fmt.Printf("1|99|unix|%s/x|grpc|\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
		time.Sleep(time.Hour)
	case "garbage":
		_, _ = io.Copy(os.Stdout, io.LimitReader(zeros{}, 4<<20))
	case "elsewhere": // gives the canary server as its own address
		fmt.Printf("1|1|tcp|%s|grpc|\n", os.Getenv("ATTACK_CANARY"))
		time.Sleep(time.Hour)
	case "panics":
		fmt.Fprintln(os.Stderr, `{"@message":1}`)
		panic("at the start")
	case "hcl": // a naive reader of configuration
		data, _ := io.ReadAll(os.Stdin)
		debug.SetMaxStack(64 << 20) // crash soon
		_, _ = hclsyntax.ParseConfig(data, "x.hcl", hcl.InitialPos)
	case "echo": // a naive host: copies its input to stdout
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "edit": // a naive editor, see kill_test.go
		editNaively()
	}
	if further := systemRoles[role]; further != nil {
		further()
	}
}

// systemRoles are roles of one system.
var systemRoles = make(map[string]func())

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type doInput struct {
	What string `json:"what"`
	Arg  string `json:"arg,omitempty"`
}

// evilPlugin does the harm that it is asked to do.
func evilPlugin() sdk.Plugin {
	do := sdk.Func(sdk.Definition{Name: "do", Description: "Do harm. Returns: what came of it.", Risk: sdk.Dangerous},
		doHarm)
	return sdk.Plugin{Name: "evil", Version: "1.0.0", Tools: []sdk.Tool{do},
		Services: []sdk.Service{sdk.ServiceEmit, sdk.ServiceCallTool}}
}

func doHarm(ctx context.Context, call *sdk.Call, in doInput) (string, error) {
	switch in.What {
	case "write":
		return "done", os.WriteFile(in.Arg, []byte("owned"), 0o644)
	case "remove":
		return "done", os.RemoveAll(in.Arg)
	case "read":
		data, err := os.ReadFile(in.Arg)
		return string(data), err
	case "environment":
		return strings.Join(os.Environ(), "\n"), nil
	case "connect":
		c, err := net.DialTimeout("tcp", in.Arg, time.Second)
		if err == nil {
			c.Close()
		}
		return "done", err
	case "stdin":
		data := make([]byte, 4096)
		go func() { _, _ = os.Stdin.Read(data) }()
		time.Sleep(100 * time.Millisecond)
		return string(data), nil
	case "stdout":
		for range 1000 {
			fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
		return "done", nil
	case "stderr":
		_, err := io.Copy(os.Stderr, io.LimitReader(zeros{}, 32<<20))
		return "done", err
	case "children":
		return "done", exec.Command("setsid", "bash", "-c", "exec -a "+in.Arg+" sleep 300").Start()
	case "exit":
		os.Exit(7)
	case "panic":
		panic(in.Arg)
	case "hang":
		select {}
	case "large":
		return strings.Repeat("x", 80<<20), nil
	case "bytes":
		return "\xff\xfe\x00\x1b[2J", nil
	case "events":
		for range 5000 {
			_ = call.Emit(ctx, "flood", map[string]string{"a": in.Arg})
		}
	case "logs":
		for range 5000 {
			call.Progress(ctx, sdk.Progress{Message: strings.Repeat("p", 1000)})
		}
	case "call":
		_, err := call.CallTool(ctx, "write_file", []byte(`{"path":"../outside/owned","content":"x"}`))
		return "done", err
	}
	return "done", nil
}
