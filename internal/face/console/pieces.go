package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/record"
)

// Bounds of what is sent at once of a call's parameters, result and plan.
const (
	mostWhole  = 2 << 20  // a larger one is sent in pieces
	pieceText  = 50 << 10 // bytes of a text
	pieceParts = 200      // of a list or an object
	pieceValue = 200      // bytes of a value beside its name
)

// largeTime is how long a large content stays in memory.
const largeTime = time.Minute

// large caches the last large content.
type large struct {
	mu    sync.Mutex
	key   string
	value any
	drop  *time.Timer
}

// get returns a content, read again unless it is the last one. Reads do not overlap.
func (l *large) get(key string, read func() (any, error)) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != key || l.value == nil {
		l.key, l.value = "", nil
		value, err := read()
		if err != nil {
			return nil, err
		}
		l.key, l.value = key, value
	}
	if l.drop != nil {
		l.drop.Stop()
	}
	l.drop = time.AfterFunc(largeTime, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.key, l.value = "", nil
	})
	return l.value, nil
}

// part is an element of a list or object: a short value, or its kind and size.
type part struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	Kind  string `json:"kind,omitempty"` // text, list or object
	Size  int    `json:"size"`
}

// piece is a piece of a text, list or object.
type piece struct {
	Kind   string `json:"kind"`
	Size   int    `json:"size"` // bytes of a text, else number of parts
	Pieces int    `json:"pieces"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Text   string `json:"text,omitempty"`
	Parts  []part `json:"parts,omitempty"`
}

// showPiece serves a piece of a part of a call's parameters or result. The part is named by its indexes
// in lists and in objects sorted by name.
func (s *Server) showPiece(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	names := []string{"session", "id", "began", "of"}
	key := found.id
	for _, name := range names {
		key += "\x00" + r.FormValue(name)
	}
	value, err := s.large.get(key, func() (any, error) { return readLarge(r.Context(), found, r) })
	if err != nil {
		return err
	}
	for place := range strings.SplitSeq(r.FormValue("path"), ".") {
		if place == "" {
			continue
		}
		n, err := strconv.Atoi(place)
		inner, ok := partAt(value, n)
		if err != nil || !ok {
			return tool.Errorf(tool.NotFound, "it has no such part").Suggest("Reload the page.")
		}
		value = inner
	}
	n, _ := strconv.Atoi(r.FormValue("piece"))
	return give(w, pieceOf(value, n), nil)
}

func readLarge(ctx context.Context, found *space, r *http.Request) (any, error) {
	session := r.FormValue("session")
	if err := record.ValidSession(session); err != nil {
		return nil, err
	}
	d, err := found.recorder.Show(ctx, record.Filter{Session: session, Request: r.FormValue("id")})
	if err != nil {
		return nil, err
	}
	data := map[string]json.RawMessage{"result": d.Result, "params": d.Params, "plan": d.Plan}[r.FormValue("of")]
	if len(data) == 0 || strconv.FormatInt(d.Began.UnixMicro(), 10) != r.FormValue("began") {
		return nil, tool.Errorf(tool.NotFound, "the call has none, or another call has its name now").
			Suggest("Look it up in the timeline again.")
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, tool.Errorf(tool.Unavailable, "it cannot be read: %w", err).
			Suggest("`toolhost show` prints it as it is.")
	}
	return value, nil
}

func partAt(v any, n int) (any, bool) {
	switch v := v.(type) {
	case []any:
		if n >= 0 && n < len(v) {
			return v[n], true
		}
	case map[string]any:
		if names := slices.Sorted(maps.Keys(v)); n >= 0 && n < len(names) {
			return v[names[n]], true
		}
	}
	return nil, false
}

// pieceOf returns the nth piece, or the nearest.
func pieceOf(v any, n int) piece {
	text, ok := v.(string)
	if !ok {
		if kind, _ := kindOf(v); kind != "" {
			return piecesOfParts(v, n)
		}
		text = fmt.Sprint(v)
	}
	p := piece{Kind: "text", Size: len(text), Pieces: max(1, (len(text)+pieceText-1)/pieceText)}
	n = min(max(n, 0), p.Pieces-1)
	p.From, p.To = runeAt(text, n*pieceText), runeAt(text, min((n+1)*pieceText, len(text)))
	p.Text = show.Text(text[p.From:p.To])
	return p
}

func runeAt(text string, i int) int {
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

func piecesOfParts(v any, n int) piece {
	kind, size := kindOf(v)
	p := piece{Kind: kind, Size: size, Pieces: max(1, (size+pieceParts-1)/pieceParts), Parts: []part{}}
	p.From = min(max(n, 0), p.Pieces-1) * pieceParts
	p.To = min(p.From+pieceParts, size)
	switch v := v.(type) {
	case []any:
		for i := p.From; i < p.To; i++ {
			p.Parts = append(p.Parts, partOf(strconv.Itoa(i), v[i]))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v))[p.From:p.To] {
			p.Parts = append(p.Parts, partOf(show.Fit(show.Page.Line(name), mostLine), v[name]))
		}
	}
	return p
}

func partOf(name string, v any) part {
	kind, size := kindOf(v)
	if text, ok := v.(string); ok && len(text) <= pieceValue {
		return part{Name: name, Value: strconv.Quote(show.Text(text))}
	}
	if kind == "" {
		return part{Name: name, Value: string(tool.MustMarshal(v))}
	}
	return part{Name: name, Kind: kind, Size: size}
}

// kindOf returns the kind and size of a value that is shown by itself; "" for others.
func kindOf(v any) (kind string, size int) {
	switch v := v.(type) {
	case string:
		return "text", len(v)
	case []any:
		return "list", len(v)
	case map[string]any:
		return "object", len(v)
	}
	return "", 0
}
