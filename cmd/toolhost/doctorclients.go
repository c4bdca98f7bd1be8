package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/face/clientconfig"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/toolset"
)

// clientFindings checks the entries of clients that pass on only the environment variables named there:
// those that agent.hcl reads must be among them, and set.
func (a *app) clientFindings() (findings []finding) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	machine := clientconfig.Machine{OS: runtime.GOOS, Home: home, Env: os.Getenv}
	needed := a.examineFor("").env()
	for _, client := range clientconfig.Clients() {
		files := client.UserFiles(machine)
		if dir, err := a.projectDir(); err == nil {
			if file, err := client.ProjectFile(dir); err == nil && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
		for _, file := range files {
			text, _ := clientconfig.Read(file)
			entries, _ := client.Entries(file, text) // an unreadable file is the client's to report
			for _, entry := range entries {
				if client.FiltersEnv() {
					findings = append(findings, environmentFinding(client, file, entry, needed))
				}
				findings = append(findings, a.handsFindings(client, machine, file, entry)...)
			}
		}
	}
	return findings
}

// handsFindings reports a client that has a vendor's tools both from toolhost and its own: what its own
// do is neither confined nor recorded.
func (a *app) handsFindings(
	client *clientconfig.Client, machine clientconfig.Machine, file string, entry clientconfig.Entry,
) []finding {
	if set, _ := toolset.Find(entry.Toolset); !set.Hands {
		return nil
	}
	own, err := client.OwnTools(machine, "", file)
	if err != nil || own.Off() {
		return nil
	}
	if dir, err := a.projectDir(); err == nil {
		if theirs, err := client.OwnTools(machine, dir, file); err == nil && theirs.Off() {
			return nil
		}
	}
	return []finding{{Check: "client " + client.ID, Warning: true,
		Detail: fmt.Sprintf("has its own tools beside those of the server %s in %s: what it does with its own is neither "+
			"confined nor kept", entry.Name, file),
		Next: "Run toolhost install " + client.ID + " --toolset " + entry.Toolset + " --replace."}}
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
		f.Next = "Set it in the environment in which " + client.Title + " is started, unless agent.hcl has a default for it."
	default:
		f.OK = true
		f.Detail += " is given the variables that agent.hcl reads"
	}
	return f
}

// installationFindings reports how toolhost was installed, and its helper programs. A missing one is no
// fault, as few need all; one of another version is.
func installationFindings(avoid string) []finding {
	own := buildinfo.Read()
	channel, err := installation.Installed()
	installed := finding{Check: "installed", OK: err == nil, Detail: own.Version + ", " + channel.Describe()}
	if err != nil {
		installed.Warning = true
		installed.Detail = own.Version + "; how is not known: " + err.Error()
		installed.Next = "Install toolhost again, or remove the file."
	}
	findings := []finding{installed}
	for _, h := range installation.Helpers() {
		found, err := h.Inspect(avoid)
		if found.Path == "" && h.Apart {
			continue
		}
		failed := tool.AsError(err)
		f := finding{Check: h.Name, OK: failed == nil, Detail: found.Path, Warning: found.Path == ""}
		switch {
		case found.Path == "":
			f.Detail, f.Next = "is missing; it "+h.Purpose, failed.Suggestion
		case failed != nil:
			f.Detail, f.Next = failed.Message, failed.Suggestion
		case own.Commit != "" && found.Build.Commit != "" && own.Commit != found.Build.Commit:
			f.OK, f.Warning = false, true
			f.Detail += " was built at another commit than toolhost"
			f.Next = channel.Restore(h)
		}
		findings = append(findings, f)
	}
	return findings
}
