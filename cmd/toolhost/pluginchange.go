package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
)

// agreeTo shows what an update of a plugin would change before its installation, and asks if the
// version is the locked one but the program differs: a version names one program.
func (a *app) agreeTo(ctx context.Context, o *owned, c config.Plugin, next *install.Manifest, yes bool) error {
	locked := o.lock.Entry(c.Name)
	var before *plugins.Description
	sameFiles := true
	if old, err := o.lock.Installed(c); err == nil {
		before, sameFiles = old.Description, old.Tree == next.Tree
	}
	sum := locked.SHA256[install.Platform()]
	switch {
	case next.Version != locked.Version:
		fmt.Fprintf(a.out, "%s: %s -> %s\n", c.Name, show.Line(locked.Version), show.Line(next.Version))
		a.showToolChanges(before, next.Description)
		return nil
	case sum == next.SHA256 && sameFiles:
		fmt.Fprintf(a.out, "%s: still %s\n", c.Name, show.Line(next.Version))
		return nil
	case sum != next.SHA256:
		fmt.Fprintf(a.out, "%s: another program under the same version %s: its SHA-256 is %s, and %s was locked\n", c.Name,
			show.Line(next.Version), next.SHA256, cmp.Or(sum, "none for "+install.Platform()))
	default:
		fmt.Fprintf(a.out, "%s: other files beside the same program, under the same version %s\n", c.Name,
			show.Line(next.Version))
	}
	a.showToolChanges(before, next.Description)
	if yes {
		return nil
	}
	refused := tool.Errorf(tool.Conflict, "plugin %s is not updated: its version %s has other contents than before",
		c.Name, next.Version)
	if !isTerminal(a.in) {
		return refused.Suggest("Ask its author why. If it is meant, run toolhost plugin update %s --yes.", c.Name)
	}
	line, _, err := a.readLine(ctx, "Install and lock it? (y/n) ")
	if err == nil && !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))) {
		err = refused.Suggest("Ask its author why the version is the same.")
	}
	return err
}

// showToolChanges shows the differences between a plugin's tools: names, descriptions, parameters,
// risks and permissions.
func (a *app) showToolChanges(before, now *plugins.Description) {
	if before == nil {
		fmt.Fprintln(a.out, "  The locked version is not installed here, so its tools cannot be compared.")
		return
	}
	diff := textedit.Unified("before", "now", []byte(toolsText(before)), []byte(toolsText(now)), 1)
	if diff == "" {
		fmt.Fprintln(a.out, "  Its tools describe themselves as before.")
		return
	}
	a.printDiff(show.Text(diff))
}

func toolsText(d *plugins.Description) string {
	var b strings.Builder
	if len(d.Services) > 0 {
		fmt.Fprintf(&b, "services: %s\n", strings.Join(d.Services, ", "))
	}
	for _, def := range d.Tools {
		fmt.Fprintf(&b, "%s (%s)\n  permissions: %s\n  parameters: %s\n", def.Name, def.Risk,
			cmp.Or(joinPermissions(def.Permissions), "none"), cmp.Or(compact(def.Parameters), "none"))
		for line := range strings.Lines(def.Description) {
			fmt.Fprintf(&b, "  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return b.String()
}

// compact removes blanks from JSON: stored JSON has others than a plugin's answer.
func compact(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

// noteUnlocked reports what the lock file does not cover: it has only the program's checksum.
func (a *app) noteUnlocked(found *install.Installed) {
	var parts []string
	files := 0
	_ = filepath.WalkDir(found.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != found.Path() {
			files++
		}
		return nil
	})
	if files > 0 {
		parts = append(parts, fmt.Sprintf("%d other files of the plugin", files))
	}
	if by := interpreter(found.Path()); by != "" {
		parts = append(parts, "the interpreter "+show.Word(by)+" and its libraries")
	}
	if len(parts) > 0 {
		fmt.Fprintf(a.out, "  not locked: %s; %s has only the checksum of %s\n", strings.Join(parts, ", "), config.LockName,
			show.Word(found.Program))
	}
}

// interpreter returns the interpreter in a script's first line, "" for other programs.
func interpreter(program string) string {
	file, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer file.Close()
	start := make([]byte, 256)
	n, _ := file.Read(start)
	line, script := strings.CutPrefix(string(start[:n]), "#!")
	if !script {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(line)
}
