package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// goSettings are what a build takes from the machine: the origin and cache of modules. Everything else is
// set here.
var goSettings = []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOMODCACHE",
	"GOCACHE", "GOPATH", "GOTOOLCHAIN"}

func buildEnv(ctx context.Context, p platform) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, goSettings...)...).Output()
	if err != nil {
		return nil, failed("go env", err)
	}
	settings := make(map[string]string)
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, err
	}
	env := []string{"GOENV=off", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG="}
	for _, name := range goSettings {
		env = append(env, name+"="+settings[name])
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GOROOT", "SystemRoot", "LOCALAPPDATA", "HTTPS_PROXY",
		"HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

// buildFlags omit the machine's data and debugging tables. grpcnotrace leaves out gRPC's
// debugging pages.
func buildFlags(version, commit string, date time.Time) []string {
	info := module + "/internal/buildinfo."
	return []string{"-trimpath", "-buildvcs=false", "-mod=readonly", "-tags=grpcnotrace",
		fmt.Sprintf("-ldflags=-s -w -buildid= -X %sversion=%s -X %scommit=%s -X %sdate=%s", info, version, info, commit,
			info, date.Format(time.RFC3339))}
}

func (b *build) compile(ctx context.Context, p platform) ([]file, error) {
	dir, err := os.MkdirTemp(b.temp, "bin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	env, err := buildEnv(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, module := range modules {
		args := append([]string{"build"}, buildFlags(b.version, b.commit, b.time)...)
		args = append(args, "-o", dir+string(filepath.Separator))
		for _, program := range module.programs {
			args = append(args, "./cmd/"+program)
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join(b.source, module.dir), env, b.progress
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("building for %s: %w", p, err)
		}
	}
	var files []file
	for _, program := range compiled() {
		data, err := os.ReadFile(filepath.Join(dir, program))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: program, mode: 0o755, data: data})
	}
	return files, nil
}

// toolchain returns the version of Go that builds, such as go1.26.5.
func (b *build) toolchain(ctx context.Context) (string, error) {
	env, err := buildEnv(ctx, linuxAMD64)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir, cmd.Env = b.source, env
	out, err := cmd.Output()
	if err != nil {
		return "", failed("go env", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (b *build) targets() []platform {
	if b.short {
		return []platform{linuxAMD64}
	}
	return slices.Clone(platforms)
}
