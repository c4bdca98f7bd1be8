package main

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/agentfile"
	"github.com/toolhost/toolhost/internal/files/textedit"
	"github.com/toolhost/toolhost/internal/keep/digest"
	"github.com/toolhost/toolhost/internal/trust"
)

// approvable is what an approval of a file is for, as toolhost trust --json has it.
type approvable struct {
	Path    string   `json:"path"`
	Content string   `json:"content"`
	Effects []string `json:"effects"`
	Lent    []string `json:"lent"`
	// Files are those that run with a grant, and their digests.
	Files map[string]string `json:"files"`
	// Digest is that of all above: --digest approves this and nothing else.
	Digest string `json:"digest"`

	Approved bool `json:"approved"`
	// Known says that the file was approved before, Diff what has changed in it
	// since, and Changed which of the files.
	Known   bool     `json:"known"`
	Diff    string   `json:"diff,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// approvableOf looks at a file as it is now.
func approvableOf(store *trust.Store, cfg *config.Config, path string, content []byte) approvable {
	key := agentfile.Key(path)
	a := approvable{Path: key, Content: string(content), Effects: []string{},
		Lent:  append([]string{}, cfg.LentGrants()...),
		Files: cfg.FileDigests(), Approved: agentfile.Holds(store, cfg)}
	for _, e := range cfg.Effects() {
		text := e.String()
		if e.Pos != "" {
			text = e.Pos + ": " + text
		}
		a.Effects = append(a.Effects, text)
	}
	sum := sha256.Sum256(tool.MustMarshal(a.decidedOn()))
	a.Digest = hex.EncodeToString(sum[:])
	if before, known := store.Get(key); known {
		name := filepath.Base(key)
		a.Known, a.Changed = true, digest.Files(before.Files).Changed()
		if before.Content != nil {
			a.Diff = textedit.Diff(name, name, before.Content, content, 3)
		}
	}
	return a
}

// decidedOn is what somebody who approves has to have seen.
func (a approvable) decidedOn() []any {
	content := sha256.Sum256([]byte(a.Content))
	return []any{a.Path, hex.EncodeToString(content[:]), a.Effects, a.Lent, a.Files}
}

// check refuses another file than the one that was shown.
func (a approvable) check(shown string) error {
	if shown != a.Digest {
		return tool.Errorf(tool.Conflict, "%s, or what an approval lets it do, is not what was shown", a.Path).
			Suggest("Nothing was approved. Look at it again.")
	}
	return nil
}

// trustShown shows a file for programs, or approves what one has shown.
func (a *app) trustShown(flags trustFlags, store *trust.Store, cfg *config.Config, path string, content []byte) error {
	what := approvableOf(store, cfg, path, content)
	switch {
	case flags.digest != "":
		if err := what.check(flags.digest); err != nil {
			return err
		}
		return a.approveFile(store, path, content)
	case !flags.show:
		return usagef("Add --show.", "--json only shows")
	}
	return writeIndented(a.out, what)
}
