package policy

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

var textParams = strings.Fields("content old_str new_str old_string new_string oldString newString")

const maxPath = 4096

// places are the places in the workspace that a call names, as written and with links resolved; see Request.Places.
// unknown is set if there may be others.
type places struct {
	all     []string
	unknown bool
}

func (r *Request) places() (p places) {
	switch {
	case r.Shell != "" || r.Places == nil:
		return places{unknown: true}
	case len(r.Argv) > 0:
		p.unknown = r.line().hasCode()
		for _, word := range r.Argv[1:] {
			p.add(r, word)
			if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
				p.add(r, value)
			}
			if len(word) > 2 && word[0] == '-' && word[1] != '-' { // -tDIR
				p.add(r, word[2:])
			}
		}
		return p
	}
	var params any
	if len(r.Params) > 0 && json.Unmarshal(r.Params, &params) != nil {
		p.unknown = true
	}
	p.collect(r, params)
	return p
}

func (p *places) collect(r *Request, value any) {
	switch v := value.(type) {
	case string:
		p.add(r, v)
	case []any:
		for _, item := range v {
			p.collect(r, item)
		}
	case map[string]any:
		for key, item := range v {
			if !slices.Contains(textParams, key) {
				p.collect(r, item)
			}
		}
	}
}

// add adds a text that may be a path. A multi-line text, such as a patch, may hold any.
func (p *places) add(r *Request, text string) {
	if len(text) > maxPath || strings.Contains(text, "\n") {
		p.unknown = true
		return
	}
	if text != "" {
		p.all = append(p.all, r.Places(text)...)
	}
}

// within reports whether a place matches one of a rule's paths, or is below one.
func within(globs []string, place string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		glob = path.Clean(glob)
		return doublestar.MatchUnvalidated(glob, place) || doublestar.MatchUnvalidated(glob+"/**", place)
	})
}

// above reports whether one of a rule's paths is below a directory, or may be.
func above(globs []string, dir string) (certain, possible bool) {
	for _, glob := range globs {
		base, _ := doublestar.SplitPattern(path.Clean(glob))
		possible = possible || dir == "." || base == "."
		certain = certain || dir != "." && strings.HasPrefix(base+"/", dir+"/")
	}
	return certain, possible
}

// concernsPaths reports whether a call is about a rule's paths, and whether that is certain. A rule that allows
// requires that all places are within the paths; for deny and ask it suffices that one may be.
func (c *compiledRule) concernsPaths(r *Request, p places) (matched, certain bool) {
	if c.Action == Allow || c.Action == Review {
		outside := func(place string) bool { return !within(c.Paths, strings.TrimSuffix(place, "/")) }
		all := !p.unknown && r.Argv == nil && len(p.all) > 0 && !slices.ContainsFunc(p.all, outside)
		return all, true
	}
	for _, place := range p.all {
		place, isDir := strings.CutSuffix(place, "/")
		certain, possible := false, false
		if isDir && r.Risk != tool.ReadOnly { // its content may change
			certain, possible = above(c.Paths, place)
		}
		if within(c.Paths, place) || certain {
			return true, true
		}
		p.unknown = p.unknown || possible
	}
	return p.unknown, false
}
