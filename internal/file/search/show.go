package search

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

func show(line []byte) string {
	return strings.ToValidUTF8(string(trimCR(line)), string(utf8.RuneError))
}

func (q *Query) shown(line []byte) string {
	return q.part(trimCR(line), 0)
}

// shownMatch returns a matching line, of a long one the part around the match.
func (q *Query) shownMatch(line []byte, p *pattern) string {
	whole := p.line(line)
	line = trimCR(line)
	if q.MaxLine <= 0 || len(line) <= q.MaxLine {
		return show(line)
	}
	at := p.find(whole, q.stop)
	if at == nil || at[1] <= q.MaxLine {
		return q.part(line, 0)
	}
	before := max(0, q.MaxLine-(at[1]-at[0])) / 2
	return q.part(line, at[0]-before)
}

// part returns as much of a line as may be shown, from a position.
func (q *Query) part(line []byte, from int) string {
	if q.MaxLine <= 0 || len(line) <= q.MaxLine {
		return show(line)
	}
	from = min(from, len(line)-q.MaxLine)
	part := line[from : from+q.MaxLine]
	if from > 0 {
		part = truncate.TrimStart(part)
		from += q.MaxLine - len(part)
	}
	part = truncate.TrimEnd(part)
	text := show(part)
	if from > 0 {
		text = fmt.Sprintf("[... %d bytes] %s", from, text)
	}
	if rest := len(line) - from - len(part); rest > 0 {
		text = fmt.Sprintf("%s [... %d more bytes in this line]", text, rest)
	}
	return text
}

// page searches for later results of limited size. It first counts each file's matches, and then searches only
// files with one of the results, so that it holds nothing before them.
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
