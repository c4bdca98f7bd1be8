package plugins_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// stall sleeps longer than a test waits. Go ends a program in which all goroutines are blocked.
func stall() { time.Sleep(time.Hour) }

// servePlugin is the main function of the test plugins. Most have one fault.
func servePlugin(kind string) {
	switch kind {
	case "faulty":
		sdk.Serve(faultyPlugin())
	case "bench":
		sdk.Serve(benchPlugin())
	case "bare":
		serveBare()
	case "configured":
		sdk.Serve(configuredPlugin())
	case "services":
		sdk.Serve(servicesPlugin())
	case "greedy":
		sdk.Serve(sdk.Plugin{Name: "greedy", Tools: []sdk.Tool{
			asking("fetch", "fetched", sdk.FileRead, sdk.Network), asking("look", "looked", sdk.FileRead)}})
	case "deaf": // ignores the end of its standard input
		os.Stdin, _ = os.Open(os.DevNull)
		sdk.Serve(faultyPlugin())
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot find my data")
		os.Exit(3)
	case "silent":
		stall()
	case "panics":
		sdk.Serve(sdk.Plugin{Name: "panics", Tools: []sdk.Tool{brokenDefinition{}}})
	case "noisy":
		fmt.Println("Welcome to the noisy plugin!")
		fmt.Println(`{"@message":1}`)
		sdk.Serve(faultyPlugin())
	case "future":
		fmt.Printf("1|99|unix|%s/x|grpc|\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
		stall()
	case "elsewhere":
		dir := os.Getenv("TEST_ELSEWHERE")
		_ = os.Chdir(dir) // its name may be too long for a socket
		l, _ := net.Listen("unix", "s")
		fmt.Printf("1|1|unix|%s/s|grpc|\n", dir)
		_, _ = io.Copy(io.Discard, os.Stdin)
		l.Close()
	case "tcp":
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		fmt.Printf("1|1|tcp|%s|grpc|\n", l.Addr())
		stall()
	case "mute": // accepts the connection and says nothing
		l, _ := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		fmt.Printf("1|1|unix|%s|grpc|\n", l.Addr())
		for {
			_, _ = l.Accept()
		}
	case "garbage":
		_, _ = io.Copy(os.Stdout, io.LimitReader(zeros{}, 1<<20))
		os.Exit(1)
	case "crash":
		fmt.Fprintln(os.Stderr, `{"@message":1}`)
		fmt.Fprintln(os.Stderr, `{"@message":"x","@level":7,"@timestamp":[]}`)
		os.Exit(1)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type brokenDefinition struct{}

func (brokenDefinition) Definition() *sdk.Definition { panic("no definition today") }
func (brokenDefinition) Call(context.Context, *sdk.Call) (*sdk.Result, error) {
	return nil, nil
}

type configuration struct {
	Units string `json:"units" enum:"metric,imperial" default:"metric"`
	Token string `json:"token,omitempty"`
}

func configuredPlugin() sdk.Plugin {
	return sdk.Plugin{
		Name: "configured", Version: "2.0.0", ConfigSchema: sdk.Schema[configuration](),
		Configure: func(_ context.Context, env sdk.Env) ([]sdk.Tool, error) {
			var c configuration
			if err := env.Decode(&c); err != nil {
				return nil, err
			}
			if c.Token == "bad" {
				return nil, sdk.Errorf(sdk.PermissionDenied, "the token is not accepted").Suggest("Get another.")
			}
			return []sdk.Tool{echo(c.Units + " in " + env.Workspace.Root)}, nil
		},
	}
}

func echo(what string) sdk.Tool {
	return sdk.Func(sdk.Definition{Name: "echo", Description: "Echoes. Returns: it.", Risk: sdk.ReadOnly},
		func(context.Context, *sdk.Call, struct{}) (string, error) { return what, nil })
}

func servicesPlugin() sdk.Plugin {
	free := func(name string, fn func(context.Context, *sdk.Call, struct{}) (string, error)) sdk.Tool {
		return sdk.Func(sdk.Definition{Name: name, Description: "Uses a service. Returns: text.", Risk: sdk.ReadOnly},
			fn)
	}
	return sdk.Plugin{Name: "services", Services: []sdk.Service{sdk.ServiceState}, Tools: []sdk.Tool{
		free("hello", func(context.Context, *sdk.Call, struct{}) (string, error) { return "hi", nil }),
		free("count", func(ctx context.Context, call *sdk.Call, _ struct{}) (n string, err error) {
			err = call.State(sdk.SessionScope).Update(ctx, "n", func(old []byte) ([]byte, error) {
				i, _ := strconv.Atoi(string(old))
				n = strconv.Itoa(i + 1)
				return []byte(n), nil
			})
			return n, err
		}),
		free("sample", func(ctx context.Context, call *sdk.Call, _ struct{}) (string, error) {
			r, err := call.Sample(ctx, sdk.SampleRequest{Prompt: "?"})
			if err != nil {
				return "", err
			}
			return r.Text, nil
		}),
	}}
}

func asking(name, answer string, permissions ...sdk.Permission) sdk.Tool {
	return sdk.Func(sdk.Definition{Name: name, Description: "Asks. Returns: text.", Risk: sdk.ReadOnly,
		Permissions: permissions},
		func(context.Context, *sdk.Call, struct{}) (string, error) { return answer, nil })
}

type doInput struct {
	What string `json:"what"`
	Arg  string `json:"arg,omitempty"`
}

// faultyPlugin has a tool that does as requested, good or bad.
func faultyPlugin() sdk.Plugin {
	return sdk.Plugin{Name: "faulty", Version: "1.2.3", Tools: []sdk.Tool{doTool{}, echo("hello")}}
}

type doTool struct{}

func (doTool) Definition() *sdk.Definition {
	return &sdk.Definition{
		Name: "do", Description: "Does what it is told. Returns: what came of it.", Risk: sdk.Dangerous,
		Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"},` +
			`"arg":{"type":"string"}},"required":["what"],"additionalProperties":false}`),
	}
}

func (doTool) Plan(_ context.Context, call *sdk.Call) (*sdk.Plan, error) {
	return &sdk.Plan{FilesAffected: []string{"a.txt"}, Preview: "plan of " + call.Tool}, nil
}

func (doTool) CommandLine(_ context.Context, call *sdk.Call) ([]string, error) {
	var in doInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	if in.What == "fail" {
		return nil, sdk.Errorf(sdk.Blocked, "not that")
	}
	return []string{call.Tool, in.What, "\xff"}, nil
}

func (doTool) RenderError(call *sdk.Call, err *sdk.Error) *sdk.Result {
	return sdk.JSON(map[string]any{"rendered": err.Code, "tool": call.Tool})
}

func (doTool) Normalize(params json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(params), `"alias"`, `"what"`))
}

func (doTool) Call(ctx context.Context, call *sdk.Call) (*sdk.Result, error) {
	var in doInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	begun := func() {
		if in.Arg != "" {
			_ = os.WriteFile(in.Arg, nil, 0o600)
		}
	}
	switch in.What {
	case "pid":
		return sdk.Text(strconv.Itoa(os.Getpid())), nil
	case "size":
		return sdk.Text(strconv.Itoa(len(in.Arg))), nil
	case "big":
		n, _ := strconv.Atoi(in.Arg)
		return sdk.Text(strings.Repeat("x", n)), nil
	case "bytes":
		return sdk.Text("caf\xe9"), nil
	case "env":
		return sdk.Text(strings.Join(os.Environ(), "\n")), nil
	case "stdin":
		return sdk.Text(describeStdin()), nil
	case "panic":
		panic("at the disco")
	case "exit":
		fmt.Fprintln(os.Stderr, "my last words")
		os.Exit(7)
	case "print":
		fmt.Println("to standard output: " + in.Arg)
		fmt.Fprintln(os.Stderr, in.Arg)
		fmt.Fprintln(realStdout, "straight to fd 1")
		return sdk.Text("printed"), nil
	case "hclog":
		fmt.Fprintln(os.Stderr,
			`{"@level":"warn","@message":"disk is low","@timestamp":"2026-01-02T03:04:05.000000Z","free":7}`)
		fmt.Fprintln(os.Stderr, `{"@message":1}`)
		return sdk.Text("logged"), nil
	case "flood":
		w := bufio.NewWriter(os.Stderr)
		for i := range 50000 {
			fmt.Fprintln(w, "line", i)
		}
		return sdk.Text("flooded"), w.Flush()
	case "wait":
		begun()
		<-ctx.Done()
		return sdk.Text("stopped by " + ctx.Err().Error()), nil
	case "fail":
		begun()
		<-ctx.Done()
		return nil, ctx.Err()
	case "hang":
		begun()
		select {}
	case "stop":
		begun()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // the signal may take a moment
	case "child":
		return startChildren(in.Arg)
	case "error":
		return nil, sdk.Errorf(sdk.NotUnique, "there are two").Suggest("Name one.").With("lines", []int{1, 2})
	case "plain":
		return nil, errors.New("plain trouble")
	case "sleep":
		d, _ := time.ParseDuration(in.Arg)
		time.Sleep(d)
		return sdk.Text("slept"), nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "cannot do %q", in.What)
}

// The plugin's original streams, whatever the SDK makes of os.Stdout. The garbage collector closes
// unreferenced files, with their descriptors.
var realStdout, realStderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")

// startChildren starts a child in the group and one in a session of its own, both with the plugin's
// pipes open.
func startChildren(number string) (*sdk.Result, error) {
	var pids []string
	for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
		cmd := exec.Command("sleep", number)
		cmd.SysProcAttr = attr
		cmd.Stdout, cmd.Stderr = realStdout, realStderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		pids = append(pids, strconv.Itoa(cmd.Process.Pid))
	}
	return sdk.Text(strings.Join(pids, " ")), nil
}

func describeStdin() string {
	info, err := os.Stdin.Stat()
	if err != nil {
		return err.Error()
	}
	return info.Mode().Type().String()
}
