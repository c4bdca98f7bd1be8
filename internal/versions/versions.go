// Package versions compares version numbers (semantic versioning, without a v)
// with constraints such as ">= 1.2, < 2".
package versions

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// Valid reports whether version is valid: "1.2.3", "1.2.3-rc.1".
func Valid(version string) bool {
	return semver.IsValid("v"+version) && semver.Canonical("v"+version) == "v"+withoutBuild(version)
}

func withoutBuild(version string) string {
	before, _, _ := strings.Cut(version, "+")
	return before
}

// Compare is negative if a is older than b, positive if it is newer.
func Compare(a, b string) int { return semver.Compare("v"+a, "v"+b) }

// Constraint is a condition on versions. The zero value allows all but pre-releases.
type Constraint struct {
	text  string
	terms []term
}

type term struct {
	operator string
	version  string // as written, canonical, with v
	upper    string // for ~> and ^: the first version that is too new
	pre      bool   // the version is a pre-release
}

// Parse parses a constraint: terms separated by commas, all of which must hold.
// A term is a version after an operator: = (or none), !=, >, >=, <, <=, ~> (the
// last number written may grow) or ^ (below the next major version).
// Pre-releases are allowed only if a term names one of the same version.
func Parse(text string) (Constraint, error) {
	c := Constraint{text: strings.TrimSpace(text)}
	if c.text == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(c.text, ",") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return Constraint{}, err
		}
		c.terms = append(c.terms, t)
	}
	return c, nil
}

func parseTerm(text string) (term, error) {
	t := term{operator: "="}
	for _, operator := range []string{"!=", ">=", "<=", "~>", "=", ">", "<", "^"} {
		if rest, ok := strings.CutPrefix(text, operator); ok {
			t.operator, text = operator, strings.TrimSpace(rest)
			break
		}
	}
	version := "v" + text
	if !semver.IsValid(version) {
		return t, fmt.Errorf("%q is not a valid version: write it like 1.2.3", text)
	}
	t.version, t.pre = semver.Canonical(version), semver.Prerelease(version) != ""
	numbers := strings.Split(strings.TrimPrefix(withoutBuild(strings.TrimSuffix(version, semver.Prerelease(version))),
		"v"), ".")
	switch t.operator {
	case "~>":
		keep := max(1, len(numbers)-1)
		t.upper = next(numbers[:keep])
	case "^":
		t.upper = next(numbers[:1])
		if numbers[0] == "0" && len(numbers) > 1 {
			t.upper = next(numbers[:2])
		}
	}
	return t, nil
}

func next(numbers []string) string {
	numbers = slices.Clone(numbers)
	var n uint64
	_, _ = fmt.Sscan(numbers[len(numbers)-1], &n)
	numbers[len(numbers)-1] = fmt.Sprint(n + 1)
	return semver.Canonical("v" + strings.Join(numbers, "."))
}

// String returns the constraint as written.
func (c Constraint) String() string { return c.text }

// Allows reports whether version meets the constraint.
func (c Constraint) Allows(version string) bool {
	v := "v" + version
	if !semver.IsValid(v) {
		return false
	}
	if semver.Prerelease(v) != "" &&
		!slices.ContainsFunc(c.terms, func(t term) bool { return t.pre && release(t.version) == release(v) }) {
		return false
	}
	return !slices.ContainsFunc(c.terms, func(t term) bool { return !t.allows(v) })
}

func release(v string) string { return strings.TrimSuffix(semver.Canonical(v), semver.Prerelease(v)) }

func (t term) allows(v string) bool {
	order := semver.Compare(v, t.version)
	switch t.operator {
	case "!=":
		return order != 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "~>", "^":
		return order >= 0 && semver.Compare(v, t.upper) < 0
	}
	return order == 0
}

// Newest returns the newest allowed version of list, "" if none.
func (c Constraint) Newest(list []string) string {
	best := ""
	for _, version := range list {
		if c.Allows(version) && (best == "" || Compare(version, best) > 0) {
			best = version
		}
	}
	return best
}
