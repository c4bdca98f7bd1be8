package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/pack"
)

type provided struct {
	dir    string
	top    string // removed in the end; may be ""
	shared bool   // the worker's own directory, which is not packed
}

func (p *provided) remove() {
	if p.top != "" {
		_ = os.RemoveAll(p.top)
	}
}

// packed packs the tree of from into a file below dir.
func packed(from, dir string) (file, digest string, err error) {
	out, err := os.CreateTemp(dir, "pack-")
	if err != nil {
		return "", "", err
	}
	sum := sha256.New()
	err = errors.Join(pack.Make(from, io.MultiWriter(out, sum), pack.DefaultLimits), out.Close())
	if err != nil {
		_ = os.Remove(out.Name())
		return "", "", err
	}
	return out.Name(), hex.EncodeToString(sum.Sum(nil)), nil
}

// provide makes the session's workspace: its newest pack, or the initial one.
func (s *session) provide(ctx context.Context) error {
	from := s.record.Workspace
	if from.Directory != "" {
		return s.directory(from.Directory)
	}
	top := filepath.Join(s.worker.options.Dir, "sessions", fmt.Sprintf("%s-%d-%s", s.key, s.record.Epoch,
		s.worker.name.Instance()))
	p := &provided{top: top, dir: filepath.Join(top, "workspace")}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("the worker cannot make a workspace: %w", err)
	}
	err := s.fill(ctx, p.dir)
	if err != nil {
		p.remove()
		return err
	}
	s.workspace = p
	return nil
}

func (s *session) fill(ctx context.Context, dir string) error {
	from := s.record.Workspace
	switch {
	case s.record.Pack != "":
		return s.unpack(ctx, s.record.Pack, dir)
	case from.Git != "":
		return clone(ctx, from.Git, dir)
	case from.Empty:
		return nil
	}
	return errors.New("the session names no workspace: set git, empty or directory")
}

// directory uses a directory of the worker, below one that its operator allows.
func (s *session) directory(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("the worker has no directory %s: %w", dir, err)
	}
	for _, allowed := range s.worker.options.Directories {
		allowed, err := filepath.EvalSymlinks(allowed)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(allowed, real); err == nil && filepath.IsLocal(rel) {
			s.workspace = &provided{dir: real, shared: true}
			return nil
		}
	}
	return fmt.Errorf("the worker does not lend the directory %s: start it with --directory %s", dir, dir)
}

func (s *session) unpack(ctx context.Context, digest, dir string) error {
	file, err := os.CreateTemp(s.worker.options.Dir, "unpack-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := s.transfer(ctx, digest, file, 0); err != nil {
		return fmt.Errorf("the pack %s cannot be had from the hub's store: %w", digest, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return fmt.Errorf("%w: its bytes are not those of its name", pack.ErrPoisoned)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return pack.Unpack(dir, file, pack.DefaultLimits)
}

// clone makes a checkout of URL@COMMIT. It runs nothing of the repository.
func clone(ctx context.Context, spec, dir string) error {
	address, commit, ok := cutLast(spec, "@")
	if !ok || !isCommit(commit) {
		return fmt.Errorf("the git workspace names no commit: write URL@COMMIT, all 40 digits")
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"fetch", "--quiet", "--depth=1", "--no-tags", "--", address, commit},
		{"checkout", "--quiet", "--detach", commit},
	} {
		if err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

func isCommit(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	_, err := hex.DecodeString(text)
	return err == nil
}

// git runs git without the user's configuration, hooks, filters and prompts.
func git(ctx context.Context, dir string, args ...string) error {
	safe := []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never", "-c",
		"protocol.https.allow=always", "-c", "protocol.ssh.allow=always", "-c", "protocol.file.allow=always",
		"-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"}
	c := exec.CommandContext(ctx, "git", append(safe, args...)...)
	c.Dir = dir
	c.Env = append(environ("PATH", "HOME", "SSH_AUTH_SOCK", "SystemRoot"), "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s failed: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

func environ(names ...string) (env []string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func restoredNote(r fleet.Record) string {
	if r.Workspace.Directory != "" {
		return "The worker that had this session was lost. The session goes on in the directory as it is now."
	}
	if r.Pack == "" {
		return "The worker that had this session was lost, and its workspace was never packed: " +
			"it is as it was at the beginning. What was changed since is gone."
	}
	return fmt.Sprintf("The worker that had this session was lost. Its workspace was restored from the pack of %s: "+
		"what was changed since is gone.", r.Packed.UTC().Format("2006-01-02 15:04:05 UTC"))
}
