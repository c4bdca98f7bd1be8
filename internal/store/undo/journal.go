package undo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

const (
	journalExt = ".jsonl"
	// maxLine bounds a line of the journal, in bytes; longer ones are skipped.
	maxLine = 16 << 20
)

// The operations of lines that are not changes.
const (
	opUndo = "undo" // the call is going to undo the changes in Of
	opDone = "done" // it did, with nothing left to change
	opVoid = "void" // what the call has recorded so far was not done, or was taken back
)

type line struct {
	ID      string       `json:"id"`
	Time    time.Time    `json:"time"`
	Session string       `json:"session"`
	Call    string       `json:"call"`
	Step    int          `json:"step,omitempty"`
	Tool    string       `json:"tool,omitempty"`
	Op      string       `json:"op"` // a workspace.Kind, or one of the above
	Path    pathName     `json:"path,omitempty"`
	To      pathName     `json:"to,omitempty"`
	Mode    fs.FileMode  `json:"mode,omitempty"`
	Plain   *fs.FileMode `json:"plain_mode,omitempty"` // without the access control list
	Hash    string       `json:"hash,omitempty"`
	Data    []byte       `json:"data,omitempty"` // the object itself, when it is small
	Size    int64        `json:"size,omitempty"`
	ModTime time.Time    `json:"mtime,omitzero"`
	Link    *pathName    `json:"link,omitempty"` // the target of a symlink
	Lost    string       `json:"lost,omitempty"` // why the content is not kept
	NewHash string       `json:"new_hash,omitempty"`
	NewMode fs.FileMode  `json:"new_mode,omitempty"`
	Of      []string     `json:"of,omitempty"`
	// Of opBefore and opAfter.
	Exists bool     `json:"exists,omitempty"`
	After  []result `json:"after,omitempty"`

	bytes   int64   // in the journal
	unended bool    // its call has not recorded the path's state after
	ended   string  // the ID of the line with that state, of a change in two lines
	mixed   []*line // changes of other calls meanwhile
	newSize int64   // with newTime, what is known of content without a NewHash
	newTime time.Time
	order   string // grows with the lines of a session
}

// isChange distinguishes changes from other lines.
func (l *line) isChange() bool {
	switch l.Op {
	case opUndo, opDone, opVoid, opAfter, opNotKept:
		return false
	}
	return true
}

// pathName is a file name, any bytes.
type pathName string

// MarshalJSON encodes a name that is not UTF-8 as an object with its bytes.
func (n pathName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(nameBytes{[]byte(n)})
}

// UnmarshalJSON decodes both forms.
func (n *pathName) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b nameBytes
		err := json.Unmarshal(data, &b)
		*n = pathName(b.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(n))
}

type nameBytes struct {
	Bytes []byte `json:"bytes"`
}

// journalName returns a session's file name: the session if that is a plain name on every platform, else its
// hash. Lines contain the session.
func journalName(session string) string {
	plain := session != "" && len(session) <= 100 && !strings.ContainsFunc(session, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if plain {
		return "s-" + session + journalExt
	}
	return "h-" + workspace.Hash([]byte(session))[:32] + journalExt
}

func (s *Store) append(v *storeDir, l *line) (added int64, err error) {
	f, err := v.openJournal(l.Session)
	if err != nil {
		return 0, err
	}
	added, err = s.appendTo(f, l)
	return added, errors.Join(err, f.Close())
}

func (v *storeDir) openJournal(session string) (*os.File, error) {
	dir, err := enter(v.dir, "journal", true)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.OpenFile(journalName(session), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

func (s *Store) appendTo(f *os.File, l *line) (added int64, err error) {
	text, err := l.appendTo(nil)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(text)
	return int64(n), err
}

// appendTo appends the line in the journal's form. The newline before separates it from a truncated line.
func (l *line) appendTo(text []byte) ([]byte, error) {
	data, err := json.Marshal(l)
	return append(append(append(text, '\n'), data...), '\n'), err
}

// readJournal calls each with every line of one journal file, in order. Lines that do not parse are skipped.
func readJournal(ctx context.Context, dir *os.Root, name string, each func(*line)) error {
	f, err := dir.OpenFile(name, os.O_RDONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := readLine(in)
		if l := parseLine(text); l != nil {
			each(l)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parseLine returns nil for a line that does not parse. The content is cut out first: decoding it as JSON would
// take ten times as long.
func parseLine(text []byte) *line {
	l := &line{bytes: int64(len(text)) + 2}
	var data []byte
	const mark = `,"data":"`
	if start := bytes.Index(text, []byte(mark)); start >= 0 {
		content, rest, _ := bytes.Cut(text[start+len(mark):], []byte{'"'})
		var err error
		if data, err = base64.StdEncoding.AppendDecode(nil, content); err != nil {
			return nil
		}
		text = slices.Concat(text[:start], rest)
	}
	if len(text) == 0 || json.Unmarshal(text, l) != nil || l.ID == "" || l.Op == "" {
		return nil
	}
	l.Data = data
	return l
}

// readLine returns a line without its end, empty if it is too long.
func readLine(in *bufio.Reader) (text []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxLine; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(text), err
		}
	}
}

// journal returns the lines of all journals, and makes the content in them objects of the store.
func (v *storeDir) journal(ctx context.Context) (lines []*line, err error) {
	err = v.eachLine(ctx, func(l *line) {
		lines = append(lines, l)
		if len(l.Data) > 0 {
			v.small[l.Hash] = l.Data
		}
	})
	return lines, err
}

// eachLine calls each with every line of all journals.
func (v *storeDir) eachLine(ctx context.Context, each func(*line)) error {
	dir, err := enter(v.dir, "journal", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	files, err := journalFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := readJournal(ctx, dir, name, each); err != nil {
			return err
		}
	}
	return nil
}

func journalFiles(dir *os.Root) ([]string, error) {
	entries, err := names(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), journalExt) {
			files = append(files, e.Name())
		}
	}
	return files, nil
}

// newID returns an identifier that sorts by time.
func newID(now time.Time, random uint64) string {
	var b [8]byte
	for i := range b {
		b[i] = byte(random >> (8 * i))
	}
	return fmt.Sprintf("%016x", now.UnixNano()) + hex.EncodeToString(b[:4])
}
