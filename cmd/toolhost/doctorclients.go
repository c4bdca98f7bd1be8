package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/clientconfig"
)

// clientFindings look at the entries of clients that pass on only the
// environment variables which their entry names: those that agent.hcl reads
// have to be among them, and to be set.
func (a *app) clientFindings() (findings []finding) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	machine := clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}
	needed := a.examineFor("").env()
	for _, client := range clientconfig.Clients() {
		if !client.FiltersEnv() {
			continue
		}
		files := client.UserFiles(machine)
		if dir, err := a.projectDir(); err == nil {
			if file, err := client.ProjectFile(dir); err == nil && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
		for _, file := range files {
			text, _ := clientconfig.Read(file)
			entries, _ := client.Entries(file, text) // a file that cannot be read is the client's to report
			for _, entry := range entries {
				findings = append(findings, environmentFinding(client, file, entry, needed))
			}
		}
	}
	return findings
}

func environmentFinding(client *clientconfig.Client, file string, entry clientconfig.Entry, needed []string) finding {
	f := finding{Check: "client " + client.ID, Detail: fmt.Sprintf("the server %s in %s", entry.Name, file)}
	var missing, unset []string
	for _, name := range needed {
		if !slices.Contains(entry.Env, name) {
			missing = append(missing, name)
		} else if os.Getenv(name) == "" {
			unset = append(unset, name)
		}
	}
	switch {
	case len(missing) > 0:
		f.Warning = true
		f.Detail += " is not given what it needs: " + client.Title +
			" passes on only the variables that the entry names, and " +
			strings.Join(missing, ", ") + " is not among them"
		f.Next = "Run toolhost install " + client.ID + " again."
		if entry.Name != "toolhost" {
			f.Next = "Run toolhost install " + client.ID + " --name " + entry.Name + " again."
		}
	case len(unset) > 0:
		f.Warning = true
		f.Detail += " is given " + strings.Join(unset, ", ") + ", which is not set here"
		f.Next = "Set it where " + client.Title + " is started, if agent.hcl has no default for it."
	default:
		f.OK = true
		f.Detail += " is given the variables that agent.hcl reads"
	}
	return f
}
