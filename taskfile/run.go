package taskfile

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

type finished struct {
	*proc.Result
	report   protocol.Report
	metadata map[string]any
}

// run runs the child with args added to the Taskfile's.
func (t *Taskfile) run(ctx context.Context, call *tool.Call, args ...string) (*finished, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the run cannot be followed: %w", err).
			Suggest("Close other programs, free space in the temporary directory, and call again.")
	}
	channel := &reportChannel{r, w}
	defer channel.close()
	command, err := t.command(append([]string{"--report", channel.name()}, args...)...)
	if err != nil {
		return nil, err
	}
	command.Timeout, command.Cap = t.options.Timeout, t.options.OutputCap
	command.ExtraFiles = channel.files()
	command.OnLine = progress(ctx, call)
	command.Spill(command.Dir, call.ArtifactDir, call.Step)
	done := new(finished)
	command.Prepare = t.prepare(&done.metadata)
	if done.Result, err = proc.Run(ctx, command); err != nil {
		return nil, err
	}
	done.report = channel.read(done.Result)
	return done, nil
}

// progressPause is the least time between two progress reports.
const progressPause = 200 * time.Millisecond

// progress reports output lines as they come, at a limited rate.
func progress(ctx context.Context, call *tool.Call) func(stream, line string) {
	var mu sync.Mutex
	var last time.Time
	lines := 0.0
	return func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines++
		if time.Since(last) < progressPause || line == "" {
			return
		}
		last = time.Now()
		call.Progress(ctx, tool.Progress{Done: lines, Message: line})
	}
}

// reportChannel carries the report: a pipe that the child inherits.
type reportChannel struct{ reader, writer *os.File }

func (c *reportChannel) name() string { return "fd:3" }

func (c *reportChannel) files() []*os.File { return []*os.File{c.writer} }

func (c *reportChannel) close() {
	_ = c.reader.Close()
	_ = c.writer.Close()
}

// reportLimit is less than a pipe holds, so that the child never blocks.
const reportLimit = 48 << 10

// read returns the report, or makes one from a killed child's exit code.
func (c *reportChannel) read(result *proc.Result) protocol.Report {
	var report protocol.Report
	if json.Unmarshal(c.data(), &report) == nil && report.Kind != "" {
		return report
	}
	report = protocol.Report{Kind: protocol.OK, ExitCode: result.ExitCode}
	if result.ExitCode != 0 {
		report.Kind = protocol.Failed
	}
	return report
}

func (c *reportChannel) data() []byte {
	_ = c.writer.Close()
	// A process that holds the other end must not block this one.
	_ = c.reader.SetReadDeadline(time.Now().Add(time.Second))
	data, _ := io.ReadAll(io.LimitReader(c.reader, reportLimit))
	return data
}

// words splits a command's arguments. A glob becomes its matches in the workspace, or stays if there
// are none, as in a shell.
func (t *Taskfile) words(ctx context.Context, args string) ([]string, error) {
	split, err := argv.Split(args)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, word := range split {
		if word.Pattern == "" {
			words = append(words, word.Text)
			continue
		}
		found, err := t.ws.Glob(ctx, word.Pattern, workspace.GlobOptions{NoHidden: true})
		if err != nil || len(found) == 0 {
			found = []string{word.Text}
		}
		words = append(words, found...)
	}
	return words, nil
}

// artifacts returns the files with whole outputs that a result does not show.
func (f *finished) artifacts(t *Taskfile) (artifacts []tool.Artifact) {
	for _, stream := range []struct {
		name   string
		output proc.Output
	}{{"stdout", f.Stdout}, {"stderr", f.Stderr}} {
		if stream.output.Path != "" && stream.output.Truncated() {
			artifacts = append(artifacts,
				tool.Artifact{Name: stream.name, Path: t.shown(stream.output.Path), Bytes: stream.output.Bytes})
		}
	}
	return artifacts
}

// BinaryName is the child program's name, without ".exe".
const BinaryName = "toolhost-task"

// FindBinary returns the path of toolhost-task: beside the running program, or on PATH outside
// workspace. If missing or of another version, the error is of code unavailable and says how to get it.
func FindBinary(workspace string) (string, error) { return installation.Task.Find(workspace) }
