// Package buildcache has a confined build of a Go module take from the user's
// build cache what it would otherwise have to compile anew: the standard library
// above all.
//
// The cache is not shown to the build. The go command asks a program of its own
// (GOCACHEPROG), which runs confined as well and keeps what is built in the
// build's own cache. What is missing there it asks for by the go command's
// ActionID, a hash of all that goes into a step, and toolhost answers from
// outside. So the build gets only results of steps that it knows every input of,
// cannot look around in the cache, and changes nothing in it.
package buildcache

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/cache"

	"github.com/toolhost/toolhost/internal/files/filelock"
)

// pipes are what is asked and answered through: an ActionID, and headSize bytes
// and as many as they say.
var pipes = [...]string{"cache-asks", "cache-answers"}

const (
	headSize = cache.HashSize + 8
	maxEntry = 64 << 20
	nothing  = math.MaxUint64 // the size of what the user's cache does not have
	patience = time.Minute
)

// request and response are those of cmd/go/internal/cacheprog.
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// Serve is the cache of a go command that writes to in and reads from out: own
// is its directory, and what is not there it asks for through dir.
func Serve(in io.Reader, out io.Writer, own, dir string) error {
	c, err := cache.Open(own)
	if err != nil {
		return err
	}
	s := &server{cache: c, in: json.NewDecoder(bufio.NewReaderSize(in, 1<<16))}
	if asks, answers, err := openPipes(dir); err == nil { // without, it all is built here
		defer asks.Close()
		defer answers.Close()
		s.asks, s.answers = asks, answers
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		var q request
		if err := s.in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := s.handle(q)
		if err != nil {
			r = response{Err: err.Error()}
		}
		r.ID = q.ID
		if err := encoder.Encode(r); err != nil || q.Command == "close" {
			return err
		}
	}
}

type server struct {
	cache         *cache.Cache
	in            *json.Decoder
	asks, answers *os.File // nil when nobody answers
}

func (s *server) handle(q request) (response, error) {
	var id cache.ActionID
	switch copy(id[:], q.ActionID); q.Command {
	case "get":
		file, entry, err := s.cache.GetFile(id)
		if err != nil && s.borrow(id) == nil {
			file, entry, err = s.cache.GetFile(id)
		}
		if err != nil {
			return response{Miss: true}, nil
		}
		return response{OutputID: entry.OutputID[:], Size: entry.Size, Time: &entry.Time, DiskPath: file}, nil
	case "put":
		var body []byte
		if q.BodySize > 0 {
			if err := s.in.Decode(&body); err != nil {
				return response{}, err
			}
		}
		if err := s.cache.PutBytes(id, body); err != nil {
			return response{}, err
		}
		file, _, err := s.cache.GetFile(id)
		return response{DiskPath: file}, err
	}
	return response{}, nil
}

var errNotLent = errors.New("it is not in the user's cache")

// borrow puts into the cache what the user's has. Where an answer is late or
// belongs to another question, no further one is asked.
func (s *server) borrow(id cache.ActionID) error {
	if s.asks == nil {
		return errNotLent
	}
	data, err := s.ask(id)
	if err != nil && !errors.Is(err, errNotLent) {
		s.asks.Close()
		s.answers.Close()
		s.asks = nil
	}
	if err != nil {
		return err
	}
	return s.cache.PutBytes(id, data)
}

func (s *server) ask(id cache.ActionID) ([]byte, error) {
	// Other go commands of the same build ask through the same pipes.
	if err := filelock.Wait(s.asks, true); err != nil {
		return nil, err
	}
	defer filelock.Unlock(s.asks)
	if err := s.answers.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := s.asks.Write(id[:]); err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	if _, err := io.ReadFull(s.answers, head); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint64(head[len(id):])
	switch {
	case cache.ActionID(head[:len(id)]) != id || size > maxEntry && size != nothing:
		return nil, errors.New("the answer belongs to another question")
	case size == nothing:
		return nil, errNotLent
	}
	data := make([]byte, size)
	_, err := io.ReadFull(s.answers, data)
	return data, err
}
