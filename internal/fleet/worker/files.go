package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet"
)

// files are the outputs that results of a session link to. They are kept in the hub's
// store, where the next worker of the session finds them. It is an
// mcpserve.RunFiles.
type files struct {
	session *session

	mu       sync.Mutex
	kept     map[string]bool // by URI, in the hub's store
	fetching sync.Mutex
}

// keepWithin bounds how long a result may wait for what it links to to be kept.
const keepWithin = 30 * time.Second

// Keep implements mcpserve.RunFiles.
func (f *files) Keep(ctx context.Context, uri string, open func() (*os.File, error)) error {
	f.mu.Lock()
	known := f.kept[uri]
	f.mu.Unlock()
	if known {
		return nil
	}
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > fleet.MostResult {
		return tool.Errorf(tool.TooLarge, "it has more than the %d bytes that the hub keeps of an output", fleet.MostResult).
			Suggest("Read it now, or have the command write less.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
	defer cancel()
	defer context.AfterFunc(f.session.worker.life, cancel)()
	about := f.session.about()
	about.File = uri
	if _, _, err := f.session.worker.upload(ctx, about, io.LimitReader(file, info.Size())); err != nil {
		f.session.worker.logger.Warn("an output was not kept", "session", f.session.key, "error", err)
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = make(map[string]bool)
	}
	f.kept[uri] = true
	return nil
}

// Fetch implements mcpserve.RunFiles. What it has read from the hub's store once lies
// beside the workspaces until the session ends.
func (f *files) Fetch(ctx context.Context, uri string) (*os.File, error) {
	f.fetching.Lock()
	defer f.fetching.Unlock()
	name := filepath.Join(f.dir(), fleet.Digest(uri))
	if file, err := os.Open(name); err == nil {
		return file, nil
	}
	if err := f.download(ctx, uri, name); tool.CodeOf(err) == tool.NotFound {
		return nil, tool.Errorf(tool.NotFound, "the output %s is gone: the hub keeps none of that name", uri).
			Suggest("It may have expired, or stayed on a worker of before for lack of room. Call the tool again.")
	} else if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the output %s cannot be had from the hub's store: %w", uri, err).
			Suggest("Try again, or call the tool again.")
	}
	return os.Open(filepath.Clean(name))
}

// download puts what the hub keeps into a file.
func (f *files) download(ctx context.Context, uri, name string) error {
	if err := os.MkdirAll(f.dir(), 0o700); err != nil {
		return err
	}
	out, err := os.CreateTemp(f.dir(), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	err = f.session.fetch(ctx, uri, out)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}

// fetch gives what the session keeps under a name, where it is what was kept.
func (s *session) fetch(ctx context.Context, file string, to io.Writer) error {
	about := s.about()
	about.File = file
	sum := sha256.New()
	was, err := s.worker.download(ctx, about, io.MultiWriter(to, sum), fleet.MostResult)
	if err != nil {
		return err
	}
	if is := hex.EncodeToString(sum.Sum(nil)); is != was.Sum {
		return fmt.Errorf("it is not what was stored, but was changed: its digest is %s, not %s", is, was.Sum)
	}
	return nil
}

func (f *files) dir() string {
	s := f.session
	return filepath.Join(s.worker.options.Dir, "files",
		fmt.Sprintf("%s-%d-%s", s.key, s.epoch(), s.worker.name.Instance()))
}

func (f *files) remove() { _ = os.RemoveAll(f.dir()) }
