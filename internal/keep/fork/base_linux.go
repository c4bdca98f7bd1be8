package fork

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/atomicfile"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/view"
)

// line is one of the file of what paths held. The last one of a path counts.
type line struct {
	// Path is that of a base, in bytes: a name need not be UTF-8.
	Path    []byte      `json:"path,omitempty"`
	Exists  bool        `json:"exists,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	Size    int64       `json:"size,omitempty"`
	Hash    string      `json:"hash,omitempty"`
	Unknown bool        `json:"unknown,omitempty"`
	Below   bool        `json:"below,omitempty"`
	// Merge is the call by which the path was merged, and Into where the fork's side
	// went then: the base before counts again when that is undone.
	Merge string `json:"merge,omitempty"`
	Into  []byte `json:"into,omitempty"`
	// Swept is the time of a look at all of the fork.
	Swept *time.Time `json:"swept,omitempty"`
}

func lineOf(name string, b base) line {
	l := line{Path: []byte(name), Exists: b.Exists, Mode: b.Mode, Size: b.Size, Hash: b.Hash, Unknown: b.unknown,
		Below: b.below}
	if b.merged != nil {
		l.Merge, l.Into = b.merged.call, []byte(b.merged.into)
	}
	return l
}

func (l *line) base() base {
	return base{State: undo.State{Exists: l.Exists, Mode: l.Mode, Size: l.Size, Hash: l.Hash}, unknown: l.Unknown,
		below: l.Below}
}

// after is the base of a path that had another one before.
func (l *line) after(before base) base {
	b := l.base()
	switch {
	case l.Merge == "":
	case before.merged != nil && before.merged.call == l.Merge:
		b.merged = before.merged
	default:
		b.merged = &merged{call: l.Merge, into: string(l.Into), before: before}
	}
	return b
}

// Undone has each path be as it was before a merge that has been undone. undone
// reports that for what a call has made of a path of the workspace.
func (f *Fork) Undone(undone func(call, path string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, b := range f.known {
		for b.merged != nil && undone(b.merged.call, b.merged.into) {
			below := b.below
			b = b.merged.before
			b.below = b.below || below
		}
		f.known[name] = b
	}
}

// readBase reads what paths held.
func (f *Fork) readBase() error {
	f.known = make(map[string]base)
	file, err := os.Open(filepath.Join(f.dir, baseName))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // cut off by a kill: it is found again
		}
		if l.Swept != nil {
			f.swept = *l.Swept
			continue
		}
		f.known[string(l.Path)] = l.after(f.known[string(l.Path)])
	}
	return lines.Err()
}

// append adds lines to the file of what paths held.
func (f *Fork) append(lines ...line) error {
	var text bytes.Buffer
	text.WriteByte('\n') // after a line that a kill has cut off
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text.Write(append(data, '\n'))
	}
	file, err := os.OpenFile(filepath.Join(f.dir, baseName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text.Bytes())
	return errors.Join(err, file.Close())
}

// keep keeps the content of a text, for merging.
func (f *Fork) keep(hash string, data []byte) error {
	name := filepath.Join(f.dir, objectsDir, hash)
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	return atomicfile.Write(name, data, 0o600)
}

// kept gives a content that was kept.
func (f *Fork) kept(hash string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(f.dir, objectsDir, hash))
	if err == nil && workspace.Hash(data) != hash {
		err = errors.New("it is damaged")
	}
	return data, err
}

// isText reports what can be merged line by line, by git's rule.
func isText(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniffed)], 0) < 0 }

const sniffed = 8000

// Sweep notes the bases of what the fork has changed since the last time. Nothing
// else may write to the fork's upper layer meanwhile but the fork's own session.
// With a tick, what others do from now on is told from what they did before.
func (f *Fork) Sweep(tick bool) (found int, err error) {
	if f.lower == nil || f.lock == nil {
		return 0, nil // it is only looked at
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.stamp(tick)
	if err != nil {
		return 0, unmade(f.Name, err)
	}
	s := &sweep{fork: f, since: f.swept}
	f.lower.read = 0
	if err := s.directory(".", shown); err != nil {
		if tool.CodeOf(err) == tool.TooLarge {
			return 0, err
		}
		return 0, tool.Errorf(tool.Unavailable, "what has changed in the fork %s cannot be read: %w", f.Name, err).
			Suggest("Nothing was changed in the workspace. Try again.")
	}
	if tick || len(s.lines) > 0 { // an earlier time does no harm
		if err := f.append(append(s.lines, line{Swept: &now})...); err != nil {
			return 0, unmade(f.Name, err)
		}
	}
	f.swept = now
	return len(s.lines), nil
}

// sweep is a look at all that a fork has changed.
type sweep struct {
	fork  *Fork
	since time.Time
	lines []line
}

// mostPaths bounds the paths of a fork. Tests make it small.
var mostPaths = 500_000

// showing says what a directory of the fork lies on.
type showing byte

const (
	nothing showing = iota // or what is no directory
	hidden                 // a directory that does not show through
	shown                  // a directory that does
)

// directory looks at a directory of the fork's upper layer.
func (s *sweep) directory(name string, on showing) error {
	names, err := s.fork.upper.names(name)
	if err != nil {
		return err
	}
	for _, entry := range names {
		if err := s.entry(path.Join(name, entry), on); err != nil {
			return err
		}
	}
	if on == hidden {
		return s.below(name)
	}
	return nil
}

// entry looks at what the upper layer has by a name.
func (s *sweep) entry(name string, on showing) error {
	if undo.OwnFile(name) || name == ".agent/.gitignore" {
		return nil
	}
	stat, there, err := s.fork.upper.lstat(name)
	if err != nil || !there {
		return err
	}
	if name != ".agent" || stat.Mode&unix.S_IFMT != unix.S_IFDIR { // which toolhost makes by itself
		if err := s.note(name); err != nil {
			return err
		}
	}
	isDir := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	lower, below, err := s.fork.lower.lstat(name)
	if err != nil {
		return err
	}
	covers := below && lower.Mode&unix.S_IFMT == unix.S_IFDIR && on != nothing
	switch {
	case !isDir && covers:
		return s.below(name)
	case !isDir:
		return nil
	case !covers:
		return s.directory(name, nothing)
	case on == hidden || s.fork.upper.has(name, view.Opaque):
		return s.directory(name, hidden)
	}
	return s.directory(name, shown)
}

// below notes all that lay in a directory that the fork has removed or replaced.
func (s *sweep) below(name string) error {
	b, ok := s.fork.known[name]
	if ok && b.below {
		return nil // what is new there came later
	}
	if err := s.allBelow(name); err != nil {
		return err
	}
	b = s.fork.known[name]
	b.below = true
	s.set(name, b)
	return nil
}

func (s *sweep) allBelow(name string) error {
	names, err := s.fork.lower.names(name)
	if err != nil {
		return err
	}
	for _, entry := range names {
		at := path.Join(name, entry)
		stat, there, err := s.fork.lower.lstat(at)
		if err == nil && there {
			err = s.note(at)
		}
		if err == nil && there && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			err = s.allBelow(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note keeps what the workspace holds by a name that the fork has changed, if that
// is not known yet.
func (s *sweep) note(name string) error {
	f := s.fork
	if _, ok := f.known[name]; ok {
		return nil
	}
	if len(f.known) >= mostPaths {
		return tool.Errorf(tool.TooLarge, "the fork %s changes more than %d paths", f.Name, mostPaths).
			Suggest("Remove in the fork what need not be merged (caches, what was installed), or drop the fork.")
	}
	was, there, err := f.lower.lstat(name)
	if err != nil {
		return err
	}
	var b base
	if there {
		if b.State, err = f.lower.state(name); err != nil {
			return err
		}
		b.unknown = !before(&was, s.since) || !s.unmoved(name)
		if b.Mode.IsRegular() && b.Size <= mostMerged && !b.unknown {
			data, err := f.lower.content(name, b.State)
			switch {
			case err != nil:
				b.unknown = true
			case isText(data):
				if err := f.keep(b.Hash, data); err != nil {
					return err
				}
			}
		}
		if again, still, err := f.lower.lstat(name); err != nil || !still || !before(&again, s.since) {
			b.unknown = b.unknown || !b.Mode.IsDir()
		}
	} else {
		b.unknown = f.upper.has(name, view.Origin) || !s.untouched(path.Dir(name))
	}
	if b.Mode.IsDir() && there {
		b.unknown = false // only its mode counts
	}
	s.set(name, b)
	return nil
}

func (s *sweep) set(name string, b base) {
	s.fork.known[name] = b
	s.lines = append(s.lines, lineOf(name, b))
}

// untouched reports that no name came to a directory of the workspace, or went,
// since the last sweep.
func (s *sweep) untouched(dir string) bool {
	for ; ; dir = path.Dir(dir) {
		stat, there, err := s.fork.lower.lstat(dir)
		if err != nil {
			return false
		}
		if there {
			return before(&stat, s.since)
		}
		if dir == "." {
			return false
		}
	}
}

// unmoved reports that the directories on the way to a name are those that the fork
// has seen, and that none has been moved there.
func (s *sweep) unmoved(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		stat, there, err := s.fork.lower.lstat(dir)
		if err != nil || !there {
			return false
		}
		if before(&stat, s.since) {
			continue
		}
		if same, known := s.fork.sameOrigin(dir); known && !same {
			return false
		}
	}
	return true
}

// sameOrigin compares a directory of the workspace with the one that the fork has
// made its own of, by the handle that overlayfs keeps of that.
func (f *Fork) sameOrigin(dir string) (same, known bool) {
	at, err := f.upper.enter(dir)
	if err != nil {
		return false, false
	}
	defer unix.Close(at)
	var origin [256]byte
	n, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(at), view.Origin, origin[:])
	const head = 4 + 1 + 16 // version, magic, length, flags; type; uuid
	if err != nil || n <= head {
		return false, false
	}
	lower, err := f.lower.enter(dir)
	if err != nil {
		return false, true
	}
	defer unix.Close(lower)
	handle, _, err := unix.NameToHandleAt(lower, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return false, false
	}
	return bytes.Contains(origin[head:n], handle.Bytes()), true
}
