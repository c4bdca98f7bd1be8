package project

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/pid"
	"github.com/toolhost/toolhost/internal/store/state"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Refusal is a change that a running server did not apply.
type Refusal struct {
	// PID is the server's process id.
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Toolset string    `json:"toolset,omitempty"`
	// Reason is what is wrong with the change.
	Reason string `json:"reason"`
}

// refusals is where servers report them to doctor.
func refusals(store *state.Store) tool.State {
	return store.Directory("refused")
}

func (p *Project) refusalKey() string {
	return fmt.Sprintf("%d %s", os.Getpid(), p.options.Toolset)
}

func (p *Project) noteRefused(ctx context.Context, reason error) {
	value := tool.MustMarshal(Refusal{os.Getpid(), time.Now().UTC(), p.options.Toolset, reason.Error()})
	if err := refusals(p.store).Set(ctx, p.refusalKey(), value); err != nil {
		p.options.Logger.WarnContext(ctx, "doctor will not know of it", "error", err)
		return
	}
	p.toldRefused.Store(true)
}

func (p *Project) forgetRefused(ctx context.Context) {
	if p.toldRefused.Swap(false) {
		_ = refusals(p.store).Delete(ctx, p.refusalKey())
	}
}

// Refusals returns changes that running servers of the workspace at root did not apply: they keep their
// earlier tools.
func Refusals(ctx context.Context, root string) (all []Refusal) {
	dir, err := userdir.State(root)
	if err != nil {
		return nil
	}
	store, err := state.Open(dir)
	if err != nil {
		return nil
	}
	defer store.Close()
	kept := refusals(store)
	keys, _ := kept.Keys(ctx, "")
	for _, key := range keys {
		var r Refusal
		value, ok, err := kept.Get(ctx, key)
		if err != nil || !ok || json.Unmarshal(value, &r) != nil || !pid.Alive(r.PID) {
			_ = kept.Delete(ctx, key) // the server was killed
			continue
		}
		all = append(all, r)
	}
	return all
}
