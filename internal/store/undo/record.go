package undo

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Call is the call for which files are changed.
type Call struct {
	// Session and ID are tool.Call's Session and RequestID.
	Session, ID string
	// Step is tool.Call's Step.
	Step int
	// Tool is the tool's name, for lists; may be empty.
	Tool string
}

type callKey struct{}

// WithCall returns a context for changes of the call, made with it through workspace.WithContext or Batch.
func WithCall(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the call of WithCall, and false if there is none.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

type lostKey struct{}

// WithLost returns a context in which lost is called for each change whose old content is not kept, with the
// reason.
func WithLost(ctx context.Context, lost func(path, why string)) context.Context {
	return context.WithValue(ctx, lostKey{}, lost)
}

func tellLost(ctx context.Context, path, why string) {
	if lost, ok := ctx.Value(lostKey{}).(func(path, why string)); ok && why != "" {
		lost(path, why)
	}
}

// Recorder returns the recorder to open a workspace with, nil if nothing is kept. Changes belong to the call in
// their context, see WithCall, else to the given one. An empty session is "default"; an empty call stands for
// all changes of this process outside of calls.
func (s *Store) Recorder(session, call string, step int) workspace.Recorder {
	if s.why != nil {
		return nil
	}
	if session == "" {
		session = "default"
	}
	if call == "" {
		call = fmt.Sprintf("process-%d-%x", os.Getpid(), s.options.Now().Unix())
	}
	return &recorder{store: s, call: Call{Session: session, ID: call, Step: step}}
}

type recorder struct {
	store *Store
	call  Call
}

// BeforeChange records what will change. Errors: unavailable if the store cannot be written, timeout.
func (r *recorder) BeforeChange(ctx context.Context, b workspace.Before) error {
	if own(b) {
		return nil
	}
	err := r.store.recordBefore(ctx, r.callIn(ctx), b)
	if err != nil && r.store.options.BestEffort && ctx.Err() == nil {
		r.store.options.Logger.WarnContext(ctx, "a change was not recorded for undo", "path", b.Path, "error", err)
		tellLost(ctx, b.Path, err.Error())
		return nil
	}
	return r.store.storeError("keep what changes", unchanged, err)
}

// BeforeChanges is BeforeChange for many changes, which go into the journal together.
func (r *recorder) BeforeChanges(ctx context.Context, changes iter.Seq[workspace.Before]) error {
	if !r.store.options.BestEffort {
		return r.store.storeError("keep what changes", unchanged, r.store.recordManyBefore(ctx, r.callIn(ctx), changes))
	}
	for b := range changes {
		if err := r.BeforeChange(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) callIn(ctx context.Context) Call {
	call, ok := CallOf(ctx)
	if !ok {
		return r.call
	}
	call.Session, call.ID = cmp.Or(call.Session, r.call.Session), cmp.Or(call.ID, r.call.ID)
	return call
}

func own(b workspace.Before) bool { return OwnFile(b.Path) && (b.To == "" || OwnFile(b.To)) }

// OwnFile reports whether path is one of toolhost's own files, which are not kept.
func OwnFile(path string) bool {
	for _, dir := range []string{".agent/cache", ".agent/runs", ".agent/undo", ".agent/tasks"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// recordBefore writes the object, then the line that names it.
func (s *Store) recordBefore(ctx context.Context, call Call, b workspace.Before) error {
	v, err := s.open(true)
	if err != nil {
		return err
	}
	defer v.close()
	unlock, _, err := v.lock(ctx, contentLock, false, lockWait)
	if err != nil {
		return err
	}
	l, added, err := s.lineOf(v, call, b)
	if err == nil {
		var n int64
		n, err = s.append(v, l)
		added += n
	}
	unlock()
	if err != nil {
		return err
	}
	tellLost(ctx, b.Path, l.Lost)
	s.account(ctx, v, added)
	return nil
}

// Bounds of what is written under one lock, which pruning waits for: of the lines, and of all.
const (
	mostOfLines = 256 << 10
	mostLocked  = 4 << 20
)

// recordManyBefore is recordBefore for many changes of a call. The journal is opened once, and gets many lines in one
// write.
func (s *Store) recordManyBefore(ctx context.Context, call Call, changes iter.Seq[workspace.Before]) error {
	var p *journalWriter
	var lines []byte
	var added int64
	lost := make(map[string]string)
	write := func() error {
		if len(lines) == 0 {
			return nil
		}
		n, err := p.journal.Write(lines)
		p.unlock()
		if err == nil {
			s.account(ctx, p.storeDir, added+int64(n))
		}
		lines, added = lines[:0], 0
		return err
	}
	for b := range changes {
		if own(b) {
			continue
		}
		if p == nil {
			var err error
			if p, err = s.openWriter(call.Session); err != nil {
				return err
			}
			defer p.close()
		}
		if len(lines) == 0 {
			if err := p.lock(ctx); err != nil {
				return err
			}
		}
		l, more, err := s.lineOf(p.storeDir, call, b)
		if err == nil {
			lines, err = l.appendTo(lines)
		}
		if added += more; err == nil && (len(lines) > mostOfLines || added > mostLocked) {
			err = write()
		}
		if err != nil {
			return err
		}
		if l.Lost != "" {
			lost[b.Path] = l.Lost
		}
	}
	if err := write(); err != nil {
		return err
	}
	for path, why := range lost {
		tellLost(ctx, path, why)
	}
	return nil
}

// lineOf returns the line for a change, and stores its content.
func (s *Store) lineOf(v *storeDir, call Call, b workspace.Before) (l *line, added int64, err error) {
	l = s.newLine(call, string(b.Kind))
	l.Path, l.To, l.Mode = pathName(b.Path), pathName(b.To), b.Mode
	l.Plain = b.Plain
	l.NewHash, l.NewMode = b.NewHash, b.NewMode
	keeps := b.Kind == workspace.Replace || b.Kind == workspace.Delete
	switch {
	case b.Mode.IsRegular() && b.Kind != workspace.Create && b.Kind != workspace.Mkdir:
		l.Size, l.ModTime = b.Size, b.ModTime
		if keeps {
			added, err = s.keepContent(v, l, b)
		}
	case keeps && b.Mode&fs.ModeSymlink != 0:
		target := pathName(b.Data)
		l.Link, l.Hash = &target, workspace.Hash(b.Data)
	}
	return l, added, err
}

func (s *Store) keepContent(v *storeDir, l *line, b workspace.Before) (added int64, err error) {
	if b.Omitted {
		l.Lost = fmt.Sprintf("it had %d bytes, too many to keep", b.Size)
		return 0, nil
	}
	l.Hash, l.Size = workspace.Hash(b.Data), int64(len(b.Data))
	if l.Size > s.options.MaxFile {
		l.Lost = fmt.Sprintf("it had %d bytes, and at most %d are kept", l.Size, s.options.MaxFile)
		return 0, nil
	}
	return s.storeObject(v, l, b.Data)
}

func (s *Store) newLine(call Call, op string) *line {
	now := s.options.Now()
	return &line{
		ID: newID(now, rand.Uint64()), Time: now.UTC().Round(time.Microsecond), Op: op,
		Session: call.Session, Call: call.ID, Step: call.Step, Tool: call.Tool,
	}
}
