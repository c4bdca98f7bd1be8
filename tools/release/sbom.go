package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/modfile"
)

const sbomSuffix = ".cdx.json"

// holdsFiles reports whether users install an artifact, so that it gets an SBOM; the others
// describe these.
func holdsFiles(name string) bool {
	return slices.ContainsFunc([]string{".tar.gz", ".tgz", ".zip", ".mcpb", ".deb", ".rpm", ".oci.tar"},
		func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// sbom lists an artifact's programs and the modules that each says are linked into it.
func sbom(name, version string, at time.Time, data []byte, files []file) ([]byte, error) {
	bom := cdx.NewBOM()
	digest := sha256.Sum256(data)
	bom.SerialNumber = uuid(digest[:])
	bom.Metadata = &cdx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &cdx.Component{
		BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: number(version),
		Hashes: sha256Hashes(data), Licenses: &cdx.Licenses{{License: &cdx.License{ID: license}}}}}
	var components []cdx.Component
	var dependencies []cdx.Dependency
	modules := make(map[string]cdx.Component)
	var programRefs []string
	files, err := sorted(files)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.program() == "" {
			continue
		}
		info, err := buildinfo.Read(bytes.NewReader(f.data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		components = append(components, programComponent(f, version, info))
		var refs []string
		for _, m := range linked(info) {
			modules[m.BOMRef] = m
			refs = append(refs, m.BOMRef)
		}
		programRefs = append(programRefs, f.path)
		dependencies = append(dependencies, cdx.Dependency{Ref: f.path, Dependencies: &refs})
	}
	dependencies = append([]cdx.Dependency{{Ref: name, Dependencies: &programRefs}}, dependencies...)
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		components = append(components, modules[ref])
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	var buf bytes.Buffer
	err = cdx.NewBOMEncoder(&buf, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return buf.Bytes(), err
}

func programComponent(f file, version string, info *debug.BuildInfo) cdx.Component {
	return cdx.Component{BOMRef: f.path, Type: cdx.ComponentTypeApplication, Name: f.path, Version: number(version),
		Hashes:     sha256Hashes(f.data),
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version + "#" + strings.TrimPrefix(info.Path, module+"/"),
		Properties: &[]cdx.Property{{Name: "go:version", Value: info.GoVersion}}}
}

// linked returns the modules in a program, the standard library first.
func linked(info *debug.BuildInfo) []cdx.Component {
	number := strings.TrimPrefix(info.GoVersion, "go")
	list := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: number,
		BOMRef: "pkg:golang/std@" + number, PackageURL: "pkg:golang/std@" + number}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if modfile.IsDirectoryPath(m.Path) { // a module of this repository
			continue
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		list = append(list, cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, BOMRef: purl,
			PackageURL: purl, Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}})
	}
	return list
}

func sha256Hashes(data []byte) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest(data)}}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// uuid returns a UUID of version 8, made from a digest instead of at random.
func uuid(digest []byte) string {
	u := slices.Clone(digest[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
