package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/clientconfig"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/show"
)

// removal is one thing that uninstall --all takes away.
type removal struct {
	what, where string
	do          func() error
}

// uninstallAll lists what toolhost has left on this machine for this user, and
// with yes removes it.
func (a *app) uninstallAll(yes bool) error {
	entries, problems := a.clientRemovals()
	removals := append(entries, directoryRemovals()...)
	if len(removals) == 0 && problems == nil {
		fmt.Fprintln(a.out, "There is nothing to remove: no client entries, no state, no caches, no configuration.")
	}
	if len(removals) > 0 && !yes {
		fmt.Fprintln(a.out, "This would be removed:")
	}
	for _, r := range removals {
		if yes {
			if err := r.do(); err != nil {
				problems = errors.Join(problems, err)
				continue
			}
		}
		mark := " "
		if yes {
			mark = a.painter.green("✓")
		}
		fmt.Fprintf(a.out, "%s %s: %s\n", mark, show.Line(r.what), show.Line(r.where))
	}
	a.tellWhatStays()
	if len(removals) > 0 && !yes {
		fmt.Fprintln(a.out, "Nothing was removed yet. End servers that run, then: toolhost uninstall --all --yes")
	}
	return problems
}

// tellWhatStays says what is not ours to remove.
func (a *app) tellWhatStays() {
	channel, _ := installation.Installed()
	fmt.Fprintln(a.out, "What stays: .agent, agent.hcl and shared client files of your projects, and the programs. "+
		channel.Remove())
}

// clientRemovals are the entries in the user's own files of all clients, with the
// copies that install has left.
func (a *app) clientRemovals() (found []removal, problems error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil
	}
	machine := clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}
	for _, client := range clientconfig.Clients() {
		for _, file := range client.UserFiles(machine) {
			text, err := clientconfig.Read(file)
			if err != nil || text == nil {
				problems = errors.Join(problems, err)
				continue
			}
			entries, err := client.Entries(file, text)
			if err != nil {
				problems = errors.Join(problems, err)
				continue
			}
			for _, entry := range entries {
				found = append(found, removal{"the server " + entry.Name + " of " + client.Title, file,
					func() error { return removeEntry(client, file, entry.Name) }})
			}
			if backup := clientconfig.Backup(file); backup != "" || len(entries) > 0 {
				found = append(found, removal{"the copy of before", file + clientconfig.BackupSuffix,
					func() error { return removeBackup(file) }})
			}
		}
	}
	return found, problems
}

// removeEntry takes one entry out of a client's file.
func removeEntry(client *clientconfig.Client, file, name string) error {
	text, err := clientconfig.Read(file)
	if err != nil {
		return err
	}
	original, err := clientconfig.ReadOriginal(file)
	if err != nil {
		return err
	}
	change, err := client.Uninstall(file, text, original, name)
	if err != nil || !change.Existed {
		return err
	}
	return change.Write()
}

func removeBackup(file string) error {
	backup := clientconfig.Backup(file)
	if backup == "" {
		return nil
	}
	return notRemoved(backup, os.Remove(backup))
}

// directoryRemovals are toolhost's own directories.
func directoryRemovals() (found []removal) {
	dirs := append(userdir.Own(), userdir.OwnDir{What: "installed plugins", Path: dataDir()})
	for _, dir := range dirs {
		info, err := os.Lstat(dir.Path)
		if dir.Path == "" || err != nil {
			continue
		}
		what := dir.What
		if info.IsDir() {
			what += fmt.Sprintf(" (%d files)", countFiles(dir.Path))
		} else {
			what += " (not a directory; only itself is removed)"
		}
		found = append(found,
			removal{what, dir.Path, func() error { return notRemoved(dir.Path, os.RemoveAll(dir.Path)) }})
	}
	return found
}

func dataDir() string {
	dir, _ := userdir.Data()
	return dir
}

func countFiles(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}

func notRemoved(path string, err error) error {
	if err == nil {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "%s cannot be removed: %w", path, err).
		Suggest("End the servers that use it, check its permissions, and run toolhost uninstall --all --yes again.")
}
