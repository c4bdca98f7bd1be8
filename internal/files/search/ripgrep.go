package search

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Runner runs a command, as proc.Run does.
type Runner func(ctx context.Context, command proc.Command) (*proc.Result, error)

// maxOutput is how much of ripgrep's output is read. When it prints more, the
// engine of this package, which keeps only what is needed, does the search.
const maxOutput = 64 << 20

// sizeInterval is how often it is looked whether that is reached.
const sizeInterval = 10 * time.Millisecond

// errFallback says that ripgrep could not do the search.
var errFallback = errors.New("ripgrep cannot do this search")

func (s *Searcher) findRipgrep() (string, error) {
	if s.opts.Ripgrep != "" {
		return s.opts.Ripgrep, nil
	}
	rg, err := proc.LookPath("rg", s.ws.Root())
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "ripgrep (rg) is not installed: %w", err).
			Suggest("Install ripgrep, or let the built-in engine search.")
	}
	return rg, nil
}

func (s *Searcher) runRipgrep(ctx context.Context, command proc.Command) (*proc.Result, error) {
	command.Prepare = s.opts.Prepare
	return proc.Run(ctx, command)
}

// fits reports whether ripgrep can be told exactly what is wanted.
func (s *Searcher) fits(j *job) bool {
	if j.target.file || isAbs(j.target.rel) || !j.filter.simple || matchesNothing(j.pattern.tree) {
		return false
	}
	_, ok := s.ignoreFiles(j.target)
	return ok || j.NoIgnore
}

func (s *Searcher) ripgrep(ctx context.Context, rg string, j *job) (*hits, error) {
	result, err := s.collect(ctx, proc.Command{
		Argv: append([]string{rg}, s.arguments(j)...),
		Dir:  s.ws.Root(),
		Env:  proc.Environ(nil),
		Cap:  maxOutput,
	})
	if err != nil {
		return nil, err
	}
	timedOut, err := interrupted(ctx)
	if err != nil {
		return nil, err
	}
	// 2 with a message is a pattern that ripgrep refuses; without one it only
	// met files that it could not read.
	failed := result.ExitCode > 2 || result.ExitCode == 2 && result.Stderr.Bytes > 0
	if result.Stdout.Omitted > 0 || failed && !timedOut {
		return nil, errFallback
	}
	h := parse(result.Stdout.Head, j.Query, j.pattern)
	h.timedOut, h.engine = timedOut, Ripgrep
	return h, nil
}

// collect runs ripgrep with a file in memory as its output, where there is such
// a thing: the reader of a pipe would be woken for each file with a match, and
// take the processor from the search.
func (s *Searcher) collect(ctx context.Context, command proc.Command) (*proc.Result, error) {
	file := memoryFile()
	if file == nil {
		return s.opts.Run(ctx, command)
	}
	defer file.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go stopAbove(ctx, maxOutput, file, stop)
	command.Stdout = file
	result, err := s.opts.Run(ctx, command)
	if err != nil {
		return nil, err
	}
	printed := size(file)
	if printed > maxOutput {
		return nil, errFallback
	}
	result.Stdout.Head = make([]byte, printed)
	_, err = file.ReadAt(result.Stdout.Head, 0)
	return result, err
}

// stopAbove calls stop when the file has grown beyond limit.
func stopAbove(ctx context.Context, limit int64, file *os.File, stop func()) {
	ticker := time.NewTicker(sizeInterval)
	defer ticker.Stop()
	for size(file) <= limit {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	stop()
}

func size(file *os.File) int64 {
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// arguments are those of ripgrep. What its config file, the environment and
// ignore files of its own say plays no part.
func (s *Searcher) arguments(j *job) []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null",
		"--no-mmap", "--stats", "--no-context-separator",
		"--no-ignore-dot", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-exclude", "--no-require-git",
		"--glob", "!.git",
	}
	if !j.pattern.raw {
		args = append(args, "--crlf")
	}
	if j.Mode == Lines {
		args = append(args, "--line-number", "--before-context", strconv.Itoa(j.Before), "--after-context",
			strconv.Itoa(j.After))
	} else {
		args = append(args, "--count")
	}
	if j.Hidden {
		args = append(args, "--hidden")
	}
	for _, dir := range j.SkipDirs {
		args = append(args, "--glob", "!/"+dir)
	}
	if j.MaxDepth > 0 {
		args = append(args, "--max-depth", strconv.Itoa(j.MaxDepth))
	}
	args = append(args, s.ignoreArguments(j)...)
	for _, name := range j.filter.names {
		args = append(args, "--type-add", "toolhost:"+name)
	}
	if len(j.filter.names) > 0 {
		args = append(args, "--type", "toolhost")
	}
	dir := "./"
	if j.target.rel != "." {
		dir += j.target.rel
	}
	return append(args, "--regexp", j.pattern.rust(), "--", dir)
}

func (s *Searcher) ignoreArguments(j *job) []string {
	if j.NoIgnore {
		return []string{"--no-ignore"}
	}
	var args []string
	files, _ := s.ignoreFiles(j.target)
	for _, file := range files {
		args = append(args, "--ignore-file", file)
	}
	return args
}
