package main

import (
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/installation"
)

// installationFindings tell how toolhost was installed, and of its helper
// programs. A missing one is no fault: few need all of them. One of another
// version is.
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
