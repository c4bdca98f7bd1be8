package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// licensesFile has the license texts of all modules linked into the programs, for all platforms.
const licensesFile = "THIRD_PARTY_LICENSES"

// isLicense matches names of texts that a license requires to be passed on.
var isLicense = regexp.MustCompile(`(?i)^([a-z0-9]+[-_])?(un)?(licen[cs]es?|copying|notice|copyright|patents)([-_.][^/]*)?$`)

// licenses returns the texts of the programs' modules, sorted, each once. A module without any is an
// error.
func (b *build) licenses(ctx context.Context) ([]byte, error) {
	env, err := buildEnv(ctx, linuxAMD64)
	if err != nil {
		return nil, err
	}
	dirs := make(map[string]string)
	for _, module := range modules {
		linked, err := b.linkedModules(module.programs)
		if err == nil {
			err = b.moduleDirs(ctx, env, dirs, module.dir, linked)
		}
		if err != nil {
			return nil, err
		}
	}
	root, err := b.goCommand(ctx, env, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs["Go's standard library, "+b.goVersion] = strings.TrimSpace(string(root))
	if err := vendored(dirs, filepath.Join(b.source, filepath.FromSlash(pageVendor))); err != nil {
		return nil, err
	}
	return licenseTexts(dirs)
}

// pageVendor has the libraries of the console's page, by name and version.
const pageVendor = "internal/face/console/page/vendor"

func vendored(dirs map[string]string, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a commit without the page
	}
	for _, e := range entries {
		dirs[e.Name()+" (in the page of toolhost-console)"] = filepath.Join(dir, e.Name())
	}
	return err
}

// linkedModules returns those of some programs, as path@version.
func (b *build) linkedModules(names []string) ([]string, error) {
	found := make(map[string]bool)
	for p, programs := range b.programs {
		for _, f := range programs {
			if !slices.Contains(names, f.path) {
				continue
			}
			info, err := buildinfo.Read(bytes.NewReader(f.data))
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", f.path, p, err)
			}
			for _, m := range info.Deps {
				if m.Replace != nil {
					m = m.Replace
				}
				if modfile.IsDirectoryPath(m.Path) { // a module of this repository
					continue
				}
				found[m.Path+"@"+m.Version] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// moduleDirs adds the go command's directories of a module's dependencies, checked against its go.sum.
func (b *build) moduleDirs(ctx context.Context, env []string, dirs map[string]string, module string,
	needs []string) error {
	if len(needs) == 0 {
		return nil
	}
	out, err := b.goCommand(ctx, env, append([]string{"-C", module, "mod", "download", "-json"}, needs...)...)
	if err != nil {
		return err
	}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := list.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
}

func (b *build) goCommand(ctx context.Context, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.source, env
	out, err := cmd.Output()
	if err != nil {
		return nil, failed("go "+strings.Join(args[:min(len(args), 4)], " "), err)
	}
	return out, nil
}

func licenseTexts(dirs map[string]string) ([]byte, error) {
	users := make(map[string][]string) // of each text
	var order []string
	for _, module := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dirs[module])
		if err != nil {
			return nil, err
		}
		has := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !isLicense.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dirs[module], e.Name()))
			if err != nil {
				return nil, err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], module+" ("+e.Name()+")")
			has = true
		}
		if !has {
			return nil, fmt.Errorf("%s has no license text in %s, so it cannot be passed on: replace the module, or "+
				"teach licenses.go the file's name", module, dirs[module])
		}
	}
	var out strings.Builder
	out.WriteString("toolhost and its helper programs contain the modules below, under these licenses.\n")
	for _, text := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	return []byte(out.String()), nil
}
