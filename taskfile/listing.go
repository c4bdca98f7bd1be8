package taskfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// listingCap bounds the JSON of a listing, in bytes.
const listingCap = 16 << 20

// listingCache caches the last listing and its inputs.
type listingCache struct {
	making  sync.Mutex // held while listing, so that listings do not overlap
	mu      sync.Mutex
	listing *protocol.Listing
	prints  map[string]string
}

func (c *listingCache) files() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listing == nil {
		return nil
	}
	return slices.Clone(c.listing.Files)
}

// Check reads the Taskfile. A broken one is a *tool.Error of code unavailable; a missing one is not an error.
func (t *Taskfile) Check(ctx context.Context) error {
	_, err := t.usable(ctx)
	return err
}

// Commands returns the names of the listed commands, if known without reading the Taskfile, which Check
// does; nil if it is broken.
func (t *Taskfile) Commands() (names []string, known bool) {
	path, err := t.path()
	if err != nil {
		return nil, true
	}
	listing := t.known(path)
	if listing == nil {
		return nil, false
	}
	for _, c := range listing.Commands {
		names = append(names, c.Name)
	}
	return names, true
}

// usable is list, with an error for a broken Taskfile.
func (t *Taskfile) usable(ctx context.Context) (*protocol.Listing, error) {
	listing, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	if listing.Kind != protocol.OK && listing.Kind != protocol.NoTaskfile {
		return nil, t.broken(listing.Problem)
	}
	return listing, nil
}

func (t *Taskfile) list(ctx context.Context) (*protocol.Listing, error) {
	path, err := t.path()
	if err != nil {
		return nil, err
	}
	c := &t.listing
	c.making.Lock()
	defer c.making.Unlock()
	if listing := t.known(path); listing != nil {
		return listing, nil
	}
	kept, started := t.keptPath(path), time.Now()
	listing, err := t.describe(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing, c.prints = listing, prints(listing.Files, started)
	if kept != "" && c.prints != nil {
		_ = atomicfile.WriteCache(kept, tool.MustMarshal(keptListing{c.listing, c.prints})) // on failure only the next start is slower
	}
	return listing, nil
}

// known returns an earlier listing of the Taskfile, by this or another process, if its files are
// unchanged; else nil.
func (t *Taskfile) known(path string) *protocol.Listing {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &protocol.Listing{Kind: protocol.NoTaskfile, Files: []string{path}}
	}
	c := &t.listing
	c.mu.Lock()
	defer c.mu.Unlock()
	if (c.listing != nil || c.load(t.keptPath(path))) && c.fresh() {
		return c.listing
	}
	return nil
}

// keptListing is a listing on disk, so that a new process need not read an unchanged Taskfile.
type keptListing struct {
	Listing *protocol.Listing `json:"listing"`
	Prints  map[string]string `json:"prints"`
}

// keptPath returns the file that keeps a listing of the Taskfile at path, or "": a different one for
// each toolhost-task, environment and directory.
func (t *Taskfile) keptPath(path string) string {
	if t.options.CacheDir == "" {
		return ""
	}
	binary, err := t.options.Binary()
	if err != nil {
		return ""
	}
	info, err := os.Stat(binary)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(tool.MustMarshal([]any{t.ws.Root(), path, binary, info.Size(), info.ModTime().UnixNano(),
		proc.Environ(nil, t.options.Env...)}))
	return filepath.Join(t.options.CacheDir, hex.EncodeToString(sum[:16])+".json")
}

// load reads the listing kept at path and reports whether there is one.
func (c *listingCache) load(path string) bool {
	if path == "" {
		return false
	}
	file, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var kept keptListing
	if json.NewDecoder(io.LimitReader(file, listingCap)).Decode(&kept) != nil || kept.Listing == nil {
		return false
	}
	c.listing, c.prints = kept.Listing, kept.Prints
	return true
}

// fresh reports whether all files are unchanged since they were read.
func (c *listingCache) fresh() bool {
	return c.prints != nil && maps.Equal(c.prints, prints(c.listing.Files, time.Time{}))
}

// prints returns fingerprints of the files' content, as a file can change within a tick of its clock;
// nil if a file was written since and may not be what was read.
func prints(files []string, since time.Time) map[string]string {
	prints := make(map[string]string, len(files))
	for _, path := range files {
		info, err := os.Stat(path)
		if err == nil && !since.IsZero() && info.ModTime().After(since.Add(-20*time.Millisecond)) {
			return nil
		}
		prints[path] = fingerprint(path, info, err)
	}
	return prints
}

// maxHashed is the size up to which a file is compared by content, in bytes.
const maxHashed = 4 << 20

func fingerprint(path string, info fs.FileInfo, err error) string {
	switch {
	case err != nil:
		return "missing"
	case info.IsDir():
		return directoryPrint(path)
	case !info.Mode().IsRegular() || info.Size() > maxHashed:
		return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	file, err := plainfile.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, io.LimitReader(file, maxHashed+1)); err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// directoryPrint fingerprints the names that decide which file of an included directory is taken.
func directoryPrint(path string) string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "unreadable"
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(strings.ToLower(entry.Name()), "taskfile.") {
			names = append(names, entry.Name())
		}
	}
	return strings.Join(names, "/")
}

// describe makes the child read the Taskfile.
func (t *Taskfile) describe(ctx context.Context) (*protocol.Listing, error) {
	command, err := t.command("--describe")
	if err != nil {
		return nil, err
	}
	command.Timeout, command.Cap = describeTimeout, listingCap
	result, err := proc.Run(ctx, command)
	if err != nil {
		return nil, err
	}
	if err := t.ended(result); err != nil {
		return nil, err
	}
	listing := new(protocol.Listing)
	if result.Stdout.Truncated() || json.Unmarshal(result.Stdout.Head, listing) != nil {
		return nil, tool.Errorf(tool.Unavailable, "%s gave no listing of %s (exit code %d): %s",
			BinaryName, t.options.Path, result.ExitCode, lastLine(result.Stderr)).
			Suggest("Check that %s is of the same version as toolhost.", BinaryName)
	}
	return listing, nil
}

func (t *Taskfile) ended(result *proc.Result) error {
	switch {
	case result.TimedOut:
		return tool.Errorf(tool.Timeout, "reading %s did not end within %s", t.options.Path, describeTimeout).
			Suggest("Check that the Taskfile and its includes are ordinary files on a file system that answers.")
	case result.Cancelled:
		return tool.Errorf(tool.Cancelled, "reading %s was cancelled", t.options.Path).Suggest("Call again.")
	}
	return nil
}

func lastLine(o proc.Output) string {
	text := o.Head
	if o.Truncated() {
		text = o.Tail
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

func (t *Taskfile) broken(p *protocol.Problem) *tool.Error {
	if p == nil {
		p = &protocol.Problem{Message: "it cannot be read"}
	}
	where, details := t.options.Path, map[string]any{}
	if p.File != "" {
		where = t.shown(p.File)
	}
	details["file"] = where
	if p.Line > 0 {
		details["line"] = p.Line
		where = fmt.Sprintf("%s:%d", where, p.Line)
	}
	if p.Line > 0 && p.Column > 0 {
		details["column"] = p.Column
		where = fmt.Sprintf("%s:%d", where, p.Column)
	}
	err := tool.Errorf(tool.Unavailable, "the Taskfile is broken: %s: %s", where, p.Message).
		Suggest("Correct the file, or ask the user to do so if tools may not write it, and call again; " +
			"https://taskfile.dev describes the format.")
	err.Details = details
	return err
}

type listCommands struct{ taskfile *Taskfile }

func (l *listCommands) Definition() *tool.Definition {
	return l.taskfile.definition("list_commands", describeTimeout+describeTimeout/2)
}

type listed struct {
	Commands []listedCommand `json:"commands"`
	Message  string          `json:"message"`
}

type listedCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (l *listCommands) Call(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
	listing, err := l.taskfile.usable(ctx)
	if err != nil {
		return nil, err
	}
	path := l.taskfile.options.Path
	out := listed{Commands: []listedCommand{}}
	if listing.Kind == protocol.NoTaskfile {
		out.Message = fmt.Sprintf("There is no Taskfile: the project has no development commands. Tasks with a "+
			"description in %s would be listed here.", path)
		if other := l.taskfile.elsewhere(); other != "" {
			out.Message += fmt.Sprintf(" Those of %s are listed when agent.hcl has taskfile { path = %q }.", other,
				other)
		}
		return tool.JSON(out), nil
	}
	for _, c := range listing.Commands {
		out.Commands = append(out.Commands, listedCommand{c.Name, c.Description})
	}
	out.Message = fmt.Sprintf("Successfully listed %d development commands from %s.", len(out.Commands), path)
	return tool.JSON(out), nil
}
