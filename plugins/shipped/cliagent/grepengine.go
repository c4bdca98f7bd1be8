package cliagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/workspace"
)

const (
	// lineBuffer is how much of a line is looked at as one piece.
	lineBuffer = 256 << 10
	// lineShown bounds how much of a matching line is shown, in bytes.
	lineShown = 1000
)

// grepQuery says what to look for.
type grepQuery struct {
	matches func(line []byte) bool
	wants   func(name string) bool
	max     int
}

type grepMatch struct {
	file string
	line int
	text string
}

// grepResult holds the first matches, and the count of all.
type grepResult struct {
	matches      []grepMatch
	total, files int
}

// grepFile is the part of one file in the result.
type grepFile struct {
	name    string
	binary  bool
	total   int
	matches []grepMatch
}

// grep searches the workspace. With an error the result is what was found
// until then.
func grep(ctx context.Context, ws *workspace.Workspace, q grepQuery) (*grepResult, error) {
	var files []*grepFile
	work := make(chan *grepFile, 256)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			in := bufio.NewReaderSize(nil, lineBuffer)
			for f := range work {
				f.search(ctx, ws, q, in)
			}
		})
	}
	err := ws.Walk(ctx, ".", workspace.WalkOptions{Gitignore: true, Hidden: true}, func(e workspace.Entry) error {
		if e.Type.IsRegular() && q.wants(e.Path) {
			f := &grepFile{name: e.Path}
			files = append(files, f)
			work <- f
		}
		return nil
	})
	close(work)
	workers.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return collect(files, q.max), err
}

func collect(files []*grepFile, limit int) *grepResult {
	r := &grepResult{}
	for _, f := range files {
		if f.binary {
			continue
		}
		r.files++
		r.total += f.total
		r.matches = append(r.matches, f.matches[:min(len(f.matches), limit-len(r.matches))]...)
	}
	return r
}

// search looks through one file. One that cannot be read counts as binary: it
// was not searched.
func (f *grepFile) search(ctx context.Context, ws *workspace.Workspace, q grepQuery, in *bufio.Reader) {
	f.binary = true
	if ctx.Err() != nil {
		return
	}
	file, err := ws.Open(f.name)
	if err != nil {
		return
	}
	defer file.Close()
	in.Reset(file)
	head, err := in.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) || textedit.IsBinary(head) {
		return
	}
	f.binary = false
	if strings.HasPrefix(string(head), "\xff\xfe") || strings.HasPrefix(string(head), "\xfe\xff") {
		in = bufio.NewReaderSize(decoded([]byte(string(head)), skip(in, len(head))), lineBuffer)
	}
	f.scan(ctx, q, in)
}

// skip gives the reader after n bytes that were peeked at.
func skip(in *bufio.Reader, n int) io.Reader {
	_, _ = in.Discard(n)
	return in
}

func (f *grepFile) scan(ctx context.Context, q grepQuery, in *bufio.Reader) {
	hit := false // the current line has matched
	for line, fresh := 0, true; ctx.Err() == nil; {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 && fresh {
			line++
			hit = false
		}
		fresh = err == nil
		piece = trimEnding(piece)
		if (len(piece) > 0 || fresh) && !hit && q.matches(piece) {
			hit = true
			f.add(line, piece, q.max)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (f *grepFile) add(line int, text []byte, limit int) {
	f.total++
	if len(f.matches) < limit {
		f.matches = append(f.matches, grepMatch{f.name, line, shownLine(text)})
	}
}

func trimEnding(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
		if n > 1 && line[n-2] == '\r' {
			line = line[:n-2]
		}
	}
	return line
}

// shownLine cuts a line that is too long, and says so.
func shownLine(line []byte) string {
	if len(line) <= lineShown {
		return fromLatin1(line)
	}
	return fmt.Sprintf("%s [... %d more bytes]", fromLatin1(wholeRunes(line[:lineShown:lineShown])), len(line)-lineShown)
}
