// Package toolspec reads tool definitions from JSON files beside their code. The description is a list
// of lines to be joined by blanks.
package toolspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// definitionFile is the content of NAME.json.
type definitionFile struct {
	tool.Definition
	Description []string `json:"description"`
	Timeout     string   `json:"timeout"`
}

// Read reads the definitions in files' directory tools, by tool name. returns makes a result's schema from the
// definition's, which may be empty; nil uses that. It panics on invalid files.
func Read(files fs.FS, returns func(json.RawMessage) json.RawMessage) map[string]*tool.Definition {
	names, err := fs.Glob(files, "tools/*.json")
	if err != nil {
		panic(err)
	}
	all := make(map[string]*tool.Definition, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		d := Parse(strings.TrimSuffix(path.Base(name), ".json"), data)
		if returns != nil {
			d.Returns = returns(d.Returns)
		}
		all[d.Name] = d
	}
	return all
}

// Parse parses a tool's definition. It panics on an invalid one.
func Parse(name string, data []byte) *tool.Definition {
	var f definitionFile
	dec := json.NewDecoder(bytes.NewReader(Compact(data)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&f)
	d := &f.Definition
	d.Name, d.Description = name, strings.Join(f.Description, " ")
	if err == nil && f.Timeout != "" {
		d.Timeout, err = time.ParseDuration(f.Timeout)
	}
	if err != nil {
		panic(fmt.Sprintf("%s.json: %v", name, err))
	}
	return d
}

// Compact returns JSON without white space.
func Compact(data []byte) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		panic(err) // programming error
	}
	return b.Bytes()
}

// Members returns an object or array without its brackets.
func Members(data json.RawMessage) string { return string(data[1 : len(data)-1]) }

// Fill returns a schema made of an envelope by replacing the first of each pair with the second.
func Fill(envelope []byte, pairs ...string) json.RawMessage {
	return Compact([]byte(strings.NewReplacer(pairs...).Replace(string(Compact(envelope)))))
}
