package record

import (
	"context"
	"iter"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// Details gives all that is kept of the calls that the filter chooses, in the
// order in which they began. One is read at a time; an error is the last thing
// it gives.
func (r *Recorder) Details(ctx context.Context, f Filter) iter.Seq2[*Detail, error] {
	return func(yield func(*Detail, error) bool) {
		db, err := r.openRead(ctx)
		if db == nil {
			if err != nil {
				yield(nil, err)
			}
			return
		}
		defer db.Close()
		calls, err := r.selectCalls(ctx, db, &f)
		if err != nil {
			yield(nil, r.failed(err))
			return
		}
		slices.SortStableFunc(calls, func(a, b Call) int { return int(a.N - b.N) })
		for i := range calls {
			d := detailOf(&calls[i])
			err := r.failed(r.fill(ctx, db, d, calls[i].N))
			if err == nil && ctx.Err() != nil {
				err = tool.Errorf(tool.Cancelled, "reading the record was interrupted")
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}
