package search

import (
	"context"
	"io"
	"path"
	"sync"

	"github.com/toolhost/toolhost/host/workspace"
)

// batchSize is how many files a worker takes at a time.
const batchSize = 16

// builtin searches with the engine of this package: one goroutine walks, the
// others read and search.
func (s *Searcher) builtin(ctx context.Context, j *job) (*hits, error) {
	if j.target.file {
		return s.single(ctx, j)
	}
	batches := make(chan []string, 4*s.opts.Workers)
	workers := make([]*worker, s.opts.Workers)
	var running sync.WaitGroup
	for i := range workers {
		w := &worker{ws: s.ws, job: j}
		workers[i] = w
		running.Go(func() {
			for batch := range batches {
				w.searchAll(ctx, batch)
			}
		})
	}
	walkErr := s.list(ctx, j, batches)
	close(batches)
	running.Wait()
	timedOut, err := interrupted(ctx)
	if err != nil {
		return nil, err
	}
	if walkErr != nil && !timedOut {
		return nil, walkErr
	}
	return gather(workers, timedOut), nil
}

// single searches one file that the caller named; unlike in a walk, that it
// cannot be read is an error.
func (s *Searcher) single(ctx context.Context, j *job) (*hits, error) {
	w := &worker{ws: s.ws, job: j}
	f, err := s.ws.Open(j.target.rel)
	if err != nil {
		return nil, err
	}
	f.Close()
	w.search(j.target.rel)
	timedOut, err := interrupted(ctx)
	if err != nil {
		return nil, err
	}
	return gather([]*worker{w}, timedOut), nil
}

func gather(workers []*worker, timedOut bool) *hits {
	h := &hits{timedOut: timedOut, engine: Builtin}
	for _, w := range workers {
		h.files = append(h.files, w.found...)
		h.searched += w.searched
	}
	return h
}

// list sends the files to search, in order.
func (s *Searcher) list(ctx context.Context, j *job, batches chan<- []string) error {
	opts := workspace.WalkOptions{Gitignore: !j.NoIgnore, Hidden: j.Hidden, MaxDepth: j.MaxDepth}
	if j.NoIgnore {
		opts.SkipDirs = []string{".git"}
	}
	var batch []string
	err := s.ws.Walk(ctx, j.target.rel, opts, func(e workspace.Entry) error {
		if e.Dir || !e.Type.IsRegular() || path.Base(e.Path) == ".git" || !j.filter.wants(j.target.below(e.Path)) {
			return nil
		}
		if batch = append(batch, e.Path); len(batch) < batchSize {
			return nil
		}
		full := batch
		batch = make([]string, 0, batchSize)
		select {
		case batches <- full:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err == nil && len(batch) > 0 {
		batches <- batch
	}
	return err
}

// worker searches files one after the other.
type worker struct {
	ws  *workspace.Workspace
	job *job
	buf []byte

	found    []fileHits // in order of path
	searched int
	kept     int // lines in found
}

func (w *worker) searchAll(ctx context.Context, names []string) {
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		w.search(name)
	}
}

// search looks into one file. A file that cannot be read, or is too large, is
// left out.
func (w *worker) search(name string) {
	data, ok := w.read(name)
	if !ok {
		return
	}
	w.searched++
	found := fileHits{path: name}
	in := &input{text: decode(data), query: w.job.Query, pattern: w.job.pattern}
	in.search(&found)
	if found.count == 0 {
		return
	}
	w.found = append(w.found, found)
	w.kept += len(found.lines)
	if most := wanted(w.job.Query); w.kept/2 > most {
		w.kept = prune(w.found, most)
	}
}

// read gives a file's content, which stays valid until the next call.
func (w *worker) read(name string) ([]byte, bool) {
	f, err := w.ws.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if w.buf == nil {
		w.buf = make([]byte, 64<<10)
	}
	for n := 0; ; {
		if n == len(w.buf) {
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
		m, err := f.Read(w.buf[n:])
		if n += m; n > MaxFileSize {
			return nil, false
		}
		if err == io.EOF {
			return w.buf[:n], true
		}
		if err != nil {
			return nil, false
		}
	}
}
