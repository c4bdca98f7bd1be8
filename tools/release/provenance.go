package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const provenanceFile = "provenance.intoto.json"

// statement is an in-toto statement with SLSA's provenance, without times and names of the builder:
// every build of the commit gives the same. The in-toto library's protojson deliberately varies
// spaces between programs.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string             `json:"buildType"`
	ExternalParameters   externalParameters `json:"externalParameters"`
	InternalParameters   internalParameters `json:"internalParameters"`
	ResolvedDependencies []resource         `json:"resolvedDependencies"`
}

type externalParameters struct {
	Version   string   `json:"version"`
	Platforms []string `json:"platforms"`
}

type internalParameters struct {
	Go         string   `json:"go"`
	Flags      []string `json:"flags"`
	CommitTime string   `json:"commitTime"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = homepage + "/tools/release@v1"
)

func (b *build) provenance(artifacts map[string][]byte) ([]byte, error) {
	s := statement{Type: statementType, PredicateType: predicateType}
	for _, name := range slices.Sorted(maps.Keys(artifacts)) {
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": digest(artifacts[name])}})
	}
	var targets []string
	for _, p := range b.targets() {
		targets = append(targets, p.String())
	}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType:          buildType,
		ExternalParameters: externalParameters{Version: b.version, Platforms: targets},
		InternalParameters: internalParameters{Go: b.goVersion, Flags: buildFlags(b.version, b.commit, b.time),
			CommitTime: b.time.Format(time.RFC3339)},
		ResolvedDependencies: []resource{
			{URI: "git+" + homepage + "@" + b.commit, Digest: map[string]string{"gitCommit": b.commit}},
		},
	}
	s.Predicate.RunDetails.Builder.ID = buildType
	return indented(s)
}

// parseProvenance parses a statement, and accepts no other kind.
func parseProvenance(data []byte) (s statement, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", provenanceFile, err)
	}
	if s.Type != statementType || s.PredicateType != predicateType ||
		s.Predicate.BuildDefinition.BuildType != buildType {
		return s, fmt.Errorf("%s is not a statement of how a release of toolhost was built", provenanceFile)
	}
	if s.commit() == "" {
		return s, fmt.Errorf("%s names no commit", provenanceFile)
	}
	return s, nil
}

// commit returns the commit that was built, "" if missing.
func (s statement) commit() string {
	for _, r := range s.Predicate.BuildDefinition.ResolvedDependencies {
		if strings.HasPrefix(r.URI, "git+"+homepage+"@") {
			return r.Digest["gitCommit"]
		}
	}
	return ""
}

func indented(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(v)
	return buf.Bytes(), err
}
