// Package changelog cuts the notes of one version out of CHANGELOG.md.
package changelog

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Notes are what the changelog says of one version.
type Notes struct {
	Version string
	Date    time.Time
	Text    string // Markdown, without the heading of the version
}

// heading is that of a version: "## v0.1.0 - 2026-11-22", or "## Unreleased".
var heading = regexp.MustCompile(`^## (\S+)(?: - (\S+))?\s*$`)

// Unreleased is the heading of what no version has yet.
const Unreleased = "Unreleased"

// Cut gives the notes of a version. A changelog with a heading that is none, with
// versions that are not newest first, and one that says nothing of the version
// are errors.
func Cut(text, version string) (*Notes, error) {
	all, err := Parse(text)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.Version != version {
			continue
		}
		if n.Text == "" {
			return nil, fmt.Errorf("the changelog says nothing of %s: write what changed below its heading", version)
		}
		return &n, nil
	}
	return nil, fmt.Errorf(`the changelog has no %s: write a heading "## %s - YEAR-MONTH-DAY"`, version, version)
}

// Parse reads the whole changelog, newest version first.
func Parse(text string) (all []Notes, err error) {
	var fence string
	for number, line := range strings.Split(text, "\n") {
		fence = fenced(fence, line)
		if fence != "" || !strings.HasPrefix(line, "## ") {
			if len(all) > 0 {
				all[len(all)-1].Text += line + "\n"
			}
			continue
		}
		n, err := parseHeading(line, all)
		if err != nil {
			return nil, fmt.Errorf("line %d of the changelog: %w", number+1, err)
		}
		all = append(all, n)
	}
	for i := range all {
		all[i].Text = strings.TrimSpace(all[i].Text)
		if all[i].Text != "" {
			all[i].Text += "\n"
		}
	}
	return all, nil
}

// fenced is the fence of the block of code that goes on after line, "" for none.
func fenced(fence, line string) string {
	mark := strings.TrimLeft(line, " ")
	switch {
	case fence != "" && strings.HasPrefix(mark, fence):
		return ""
	case fence != "":
		return fence
	case strings.HasPrefix(mark, "```"):
		return "```"
	case strings.HasPrefix(mark, "~~~"):
		return "~~~"
	}
	return ""
}

func parseHeading(line string, before []Notes) (n Notes, err error) {
	match := heading.FindStringSubmatch(line)
	if match == nil {
		return n, fmt.Errorf(`%q is no heading of a version; write "## v1.2.3 - YEAR-MONTH-DAY"`, line)
	}
	n.Version = match[1]
	if n.Version == Unreleased && match[2] == "" {
		if len(before) > 0 {
			return n, fmt.Errorf("what is unreleased stands first")
		}
		return n, nil
	}
	if !semver.IsValid(n.Version) || semver.Canonical(n.Version) != n.Version {
		return n, fmt.Errorf("%q is no version such as v1.2.3", n.Version)
	}
	if n.Date, err = time.Parse(time.DateOnly, match[2]); err != nil {
		return n, fmt.Errorf("the date of %s is not as YEAR-MONTH-DAY: %q", n.Version, match[2])
	}
	if last := len(before) - 1; last >= 0 && before[last].Version != Unreleased &&
		semver.Compare(before[last].Version, n.Version) <= 0 {
		return n, fmt.Errorf("%s stands below %s, which is not newer", n.Version, before[last].Version)
	}
	return n, nil
}
