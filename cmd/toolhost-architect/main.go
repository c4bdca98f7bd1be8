// Command toolhost-architect analyzes a source tree for ocode's tool architect. It is a separate
// program because its tables of languages take long to set up. It reads a JSON request from standard
// input and writes a JSON reply; it changes nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect/analysis"
)

func main() {
	debug.SetGCPercent(100) // toolhost disabled collection for the start
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// requestLimit bounds a request, in bytes.
const requestLimit = 1 << 20

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	if buildinfo.Answer(args, architect.BinaryName, out) {
		return 0
	}
	if len(args) > 0 {
		fmt.Fprintln(errOut, `toolhost-architect takes no arguments: it reads a request such as {"root": `+
			`"/project", "path": ".", "kind": "overview", "format": "text", "depth": 3} from its standard input. `+
			"People call it through toolhost: toolhost call --toolset ocode architect analysis_type=overview")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	reply, err := answer(ctx, in)
	if err != nil {
		e := tool.AsError(err)
		reply = &architect.Reply{Error: &architect.Failure{Code: string(e.Code), Message: e.Message,
			Suggestion: e.Suggestion}}
	}
	if err := json.NewEncoder(out).Encode(reply); err != nil {
		fmt.Fprintln(errOut, "toolhost-architect: cannot write the reply:", err)
		return 1
	}
	return 0
}

func answer(ctx context.Context, in io.Reader) (*architect.Reply, error) {
	var r architect.Request
	if err := json.NewDecoder(io.LimitReader(in, requestLimit)).Decode(&r); err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "cannot read the request: %v", err)
	}
	ws, err := workspace.Open(r.Root, workspace.Options{Allow: r.Allow})
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	project, err := analysis.Read(ctx, ws, r.Path)
	if err != nil {
		return nil, err
	}
	output, err := project.Report(r.Kind, r.Format, r.Depth)
	if err != nil {
		return nil, err
	}
	return &architect.Reply{Output: output, Summary: project.Summary(), Warnings: project.Warnings}, nil
}
