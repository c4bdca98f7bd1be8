package search

import (
	"context"
	"path"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// batchSize is how many files a worker takes at a time.
const batchSize = 16

// search walks in one goroutine, and reads and searches in others.
func (s *Searcher) search(ctx context.Context, j *job) (*hits, error) {
	if j.target.file {
		return s.single(ctx, j)
	}
	batches := make(chan []string, 4*s.workers)
	files := newOpener(s.ws)
	defer files.close()
	workers := make([]*worker, s.workers)
	var running sync.WaitGroup
	for i := range workers {
		w := &worker{files: files, job: j, stop: ctx.Done()}
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

// single searches one file that the caller named, and returns its read errors, unlike a walk.
func (s *Searcher) single(ctx context.Context, j *job) (*hits, error) {
	f, err := s.ws.Open(j.target.rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := &worker{job: j, stop: ctx.Done()}
	w.searchFile(j.target.rel, f, -1)
	timedOut, err := interrupted(ctx)
	if err != nil {
		return nil, err
	}
	return gather([]*worker{w}, timedOut), nil
}

func gather(workers []*worker, timedOut bool) *hits {
	h := &hits{timedOut: timedOut}
	for _, w := range workers {
		h.files = append(h.files, w.found...)
		h.searched += w.searched
	}
	return h
}

func (s *Searcher) list(ctx context.Context, j *job, batches chan<- []string) error {
	opts := workspace.WalkOptions{Gitignore: !j.NoIgnore, Hidden: j.Hidden, MaxDepth: j.MaxDepth}
	opts.SkipDirs = slices.Clone(j.SkipDirs)
	if j.NoIgnore {
		opts.SkipDirs = append(opts.SkipDirs, ".git")
	}
	var batch []string
	err := s.ws.Walk(ctx, j.target.rel, opts, func(e workspace.Entry) error {
		if e.Dir || !e.Type.IsRegular() || path.Base(e.Path) == ".git" ||
			!j.filter.wants(j.target.relativePath(e.Path)) {
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
