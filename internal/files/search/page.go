package search

import "context"

// page searches for results behind the first ones where their size is bounded.
// It counts what each file has, and then looks into those alone that have one
// of the results: so nothing is held of what comes before them.
func (s *Searcher) page(ctx context.Context, j *job) (*hits, error) {
	counting := *j
	counting.Mode, counting.Before, counting.After = Counts, 0, 0
	found, err := s.search(ctx, &counting)
	if err != nil {
		return nil, err
	}
	found.sort()
	files := newOpener(s.ws)
	defer files.close()
	skip := j.Offset
	var held kept
	for i := range found.files {
		f := &found.files[i]
		if skip >= f.count {
			skip -= f.count
			continue
		}
		if j.Max > 0 && held.lines >= j.Max || j.full(held.size) || ctx.Err() != nil {
			break
		}
		w := &worker{files: files, job: j, stop: ctx.Done(), skip: skip}
		w.searchAll(ctx, []string{f.path})
		for _, again := range w.found {
			f.lines, f.size, f.skip = again.lines, again.size, again.skip
		}
		held.add(f)
		skip = 0
	}
	timedOut, err := interrupted(ctx)
	if err != nil {
		return nil, err
	}
	found.timedOut = found.timedOut || timedOut
	return found, nil
}
