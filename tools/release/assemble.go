package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// run builds everything and writes dist, except the signature.
func (b *build) run(ctx context.Context) (err error) {
	if b.temp, err = os.MkdirTemp("", "toolhost-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.temp)
	if b.source == "" {
		b.source = filepath.Join(b.temp, "source")
		if err := export(ctx, b.commit, b.source); err != nil {
			return err
		}
	}
	if b.goVersion, err = b.toolchain(ctx); err != nil {
		return err
	}
	b.programs = make(map[platform][]file)
	for _, p := range b.targets() {
		fmt.Fprintf(b.progress, "Building for %s.\n", p)
		if b.programs[p], err = b.compile(ctx, p); err != nil {
			return err
		}
	}
	artifacts, err := b.artifacts(ctx)
	if err != nil {
		return err
	}
	if err := checkSizes(b.programs[linuxAMD64], artifacts[b.archiveName(name, linuxAMD64)]); err != nil {
		return err
	}
	for _, near := range nearLimits(b.programs[linuxAMD64], artifacts[b.archiveName(name, linuxAMD64)]) {
		fmt.Fprintln(b.progress, near)
	}
	contents, err := b.describe(artifacts)
	if err != nil {
		return err
	}
	if err := write(b.dist, contents); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "Wrote %d files to %s.\n", len(contents)+1, b.dist)
	return nil
}

func (b *build) artifacts(ctx context.Context) (map[string][]byte, error) {
	common, err := b.common(ctx)
	if err != nil {
		return nil, err
	}
	made := make(map[string][]byte)
	for _, p := range b.targets() {
		fmt.Fprintf(b.progress, "Packing for %s.\n", p)
		if err := b.pack(p, common, made); err != nil {
			return nil, err
		}
	}
	if made[b.imageName()], err = b.image(common); err != nil {
		return nil, err
	}
	if made[npmFile(npmName, b.version)], err = b.npmWrapper(common); err != nil {
		return nil, err
	}
	made["toolhost@.service"] = unit
	if made["toolhost.rb"], err = b.formula(made); err != nil {
		return nil, err
	}
	made["server.json"], err = b.serverJSON(made)
	return made, err
}

// level is the compression of everything but archives: low for a test.
func (b *build) level() int {
	if b.short {
		return gzip.BestSpeed
	}
	return packed
}

func (b *build) pack(p platform, common []file, made map[string][]byte) (err error) {
	if made[b.archiveName(name, p)], err = b.archive(b.whole(p, common)); err != nil {
		return err
	}
	if made[b.archiveName(hub, p)], err = b.archive(append(b.fleet(p), texts(common)...)); err != nil {
		return err
	}
	if made[npmFile(npmPlatform(p), b.version)], err = b.npmPackage(p, common); err != nil {
		return err
	}
	if made[b.bundleName(p)], err = b.bundle(p, common); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	for _, kind := range []string{"deb", "rpm"} {
		for _, pkg := range b.systemPackages(kind, p, common) {
			name, data, err := b.systemPackage(kind, p, pkg)
			if err != nil {
				return err
			}
			made[name] = data
		}
	}
	return nil
}

// describe adds an SBOM for each artifact, and the provenance of all.
func (b *build) describe(artifacts map[string][]byte) (map[string][]byte, error) {
	contents := make(map[string][]byte)
	for name, data := range artifacts {
		contents[name] = data
		if !holdsFiles(name) {
			continue
		}
		files, err := unpack(name, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if contents[name+sbomSuffix], err = sbom(name, b.version, b.time, data, files); err != nil {
			return nil, err
		}
	}
	statement, err := b.provenance(contents)
	contents[provenanceFile] = statement
	return contents, err
}

// common returns the files in all artifacts: texts of the source, and toolhost's output about its
// commands.
func (b *build) common(ctx context.Context) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(b.source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: name, mode: 0o644, data: data})
	}
	if b.thirdParty == nil {
		var err error
		if b.thirdParty, err = b.licenses(ctx); err != nil {
			return nil, err
		}
	}
	files = append(files, file{path: licensesFile, mode: 0o644, data: b.thirdParty})
	if b.completions == nil {
		var err error
		if b.completions, err = b.writeCompletions(ctx); err != nil {
			return nil, err
		}
	}
	return append(files, b.completions...), nil
}

var completions = map[string]string{
	"bash":       "share/bash-completion/completions/toolhost",
	"zsh":        "share/zsh/site-functions/_toolhost",
	"fish":       "share/fish/vendor_completions.d/toolhost.fish",
	"powershell": "share/powershell/toolhost.ps1",
}

func (b *build) writeCompletions(ctx context.Context) ([]file, error) {
	var files []file
	for _, shell := range slices.Sorted(maps.Keys(completions)) {
		text, err := b.self(ctx, "completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: completions[shell], mode: 0o644, data: text})
	}
	return files, nil
}

// installed returns toolhost as a package installs it: programs in bin, helpers and the channel's
// name in libexec/toolhost.
func (b *build) installed(p platform, channel string) []file {
	files := []file{{path: "libexec/toolhost/channel", mode: 0o644, data: []byte(channel + "\n")}}
	for _, f := range b.programs[p] {
		dir := libexec
		switch f.path {
		case hub:
			continue
		case name:
			dir = "bin/"
		}
		files = append(files, file{path: dir + f.path, mode: 0o755, data: f.data})
	}
	return files
}

// libexec is a package's directory for programs that only toolhost starts.
const libexec = "libexec/toolhost/"

// fleet returns the hub where toolhost looks for it, if both are unpacked into one directory.
func (b *build) fleet(p platform) (files []file) {
	for _, f := range b.programs[p] {
		if f.path == hub {
			files = append(files, file{path: libexec + f.path, mode: 0o755, data: f.data})
		}
	}
	return files
}

func (b *build) archiveName(name string, p platform) string {
	return fmt.Sprintf("%s_%s_%s_%s.tar.gz", name, number(b.version), p.os, p.arch)
}

// whole returns the content of toolhost's archive.
func (b *build) whole(p platform, common []file) []file {
	files := b.installed(p, "archive")
	if p.os == "linux" {
		files = append(files, forLinux()...)
	}
	return append(files, common...)
}

func (b *build) archive(files []file) ([]byte, error) {
	return tarGz(prefixPaths(fmt.Sprintf("%s-%s", name, number(b.version)), files), b.time, packed)
}

func checkSizes(programs []file, archive []byte) error {
	for _, f := range programs {
		if f.path == name && len(f.data) > maxProgram {
			return fmt.Errorf("%s for %s has %.2f MiB, and may have %d", name, linuxAMD64, mib(len(f.data)), maxProgram>>20)
		}
	}
	if len(archive) > maxArchive {
		return fmt.Errorf("the archive for %s has %.2f MiB, and may have %d", linuxAMD64, mib(len(archive)), maxArchive>>20)
	}
	return nil
}

// nearLimits warns of sizes above 95 % of their limit.
func nearLimits(programs []file, archive []byte) (warnings []string) {
	near := func(what string, size, limit int) {
		if size > limit/20*19 {
			warnings = append(warnings, fmt.Sprintf("WARNING: %s has %.2f MiB of the %d that it may have.", what, mib(size), limit>>20))
		}
	}
	for _, f := range programs {
		if f.path == name {
			near(name, len(f.data), maxProgram)
		}
	}
	near("the archive", len(archive), maxArchive)
	return warnings
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

func (b *build) self(ctx context.Context, args ...string) ([]byte, error) {
	program, err := b.host(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	home := filepath.Join(b.temp, "home")
	cmd.Dir = b.temp
	cmd.Env = []string{"HOME=" + home, "PATH=", "COLUMNS=80", "SOURCE_DATE_EPOCH=" + fmt.Sprint(b.time.Unix())}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("toolhost %s: %w: %s", strings.Join(args, " "), err, problems.Bytes())
	}
	return out.Bytes(), nil
}
