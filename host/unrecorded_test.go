package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host"
)

// fullDisk is a record that may be unwritable.
type fullDisk struct{ full atomic.Bool }

func (d *fullDisk) Step(context.Context, string) (int, error) { return 1, nil }

func (d *fullDisk) Event(context.Context, string, string, any) error {
	if d.full.Load() {
		return errors.New("no space left on device")
	}
	return nil
}

func (d *fullDisk) ArtifactDir(string) string { return "" }

// A record that cannot be written is reported once, and again if it could be written in between; the calls
// succeed.
func TestRecordThatCannotBeWrittenIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	disk := new(fullDisk)
	h := newHost(t, host.Options{Recorder: disk, Logger: slog.New(slog.NewTextHandler(&log, nil))}, echo("echo"))
	warnings := func() int { return strings.Count(log.String(), "no space left on device") }
	for _, step := range []struct {
		full bool
		want int
	}{{false, 0}, {true, 1}, {true, 1}, {false, 1}, {true, 2}} {
		disk.full.Store(step.full)
		out := h.Session("s").Call(t.Context(), host.Request{Tool: "echo", Params: json.RawMessage(`{"text":"x"}`)})
		assert.Nil(t, out.Err)
		assert.Equal(t, step.want, warnings(), log.String())
	}
}
