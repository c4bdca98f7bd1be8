package analysis

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// scriptResolver resolves relative specifiers and packages in the tree. Aliases of bundlers or
// tsconfig.json count as external.
type scriptResolver struct {
	files    map[string]*File
	packages []Manifest
}

func newScriptResolver(p *Project, b *graphBuilder) *scriptResolver {
	r := &scriptResolver{files: b.files}
	for _, m := range p.Manifests {
		if m.family == scriptFamily && m.Name != "" {
			r.packages = append(r.packages, m)
		}
	}
	return r
}

func scriptEndings() []string {
	return []string{".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"}
}

func (r *scriptResolver) resolve(f *File, i imported) ([]string, string) {
	spec, _, _ := strings.Cut(i.name, "?")
	if spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") {
		return r.module(path.Join(path.Dir(f.Path), spec)), ""
	}
	for _, m := range r.packages {
		if rest, ok := cutPathPrefix(spec, m.Name); ok {
			return r.inPackage(m, rest), ""
		}
	}
	if strings.HasPrefix(spec, "/") || strings.Contains(spec, ":") || slices.Contains(nodeModules(), spec) {
		return nil, ""
	}
	segments := strings.SplitN(spec, "/", 3)
	if strings.HasPrefix(spec, "@") && len(segments) > 1 {
		return nil, segments[0] + "/" + segments[1]
	}
	return nil, segments[0]
}

// module finds the file for a path without an extension.
func (r *scriptResolver) module(name string) []string {
	for _, candidate := range scriptCandidates(name) {
		if f := r.files[candidate]; f != nil && f.source.family == scriptFamily {
			return []string{candidate}
		}
	}
	return nil
}

func scriptCandidates(name string) []string {
	candidates := []string{name}
	for _, end := range scriptEndings() {
		candidates = append(candidates, name+end)
	}
	// TypeScript imports name the output file.
	if base, ok := strings.CutSuffix(name, ".js"); ok {
		candidates = append(candidates, base+".ts", base+".tsx")
	}
	for _, end := range scriptEndings() {
		candidates = append(candidates, path.Join(name, "index"+end))
	}
	return candidates
}

func (r *scriptResolver) inPackage(m Manifest, rest string) []string {
	if rest != "" {
		return r.module(path.Join(m.dir(), rest))
	}
	for _, entry := range append(slices.Clone(m.entries), path.Join(m.dir(), "index"),
		path.Join(m.dir(), "src/index")) {
		if found := r.module(entry); found != nil {
			return found
		}
	}
	return nil
}

// nodeModules returns Node's built-in modules, by their bare names.
func nodeModules() []string {
	return strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram
		diagnostics_channel dns domain events fs fs/promises http http2 https inspector module net os path
		perf_hooks process punycode querystring readline repl stream stream/promises string_decoder sys timers
		timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`)
}

// scriptImport matches references to modules in JavaScript and TypeScript: import, export,
// require and import().
var scriptImport = sync.OnceValue(func() *regexp.Regexp {
	const name = `("[^"\n]*"|'[^'\n]*')`
	return regexp.MustCompile(`(?:^|[;}\n\s])(?:import|export)\b[^;"'()=]*?\bfrom\s*` + name +
		`|(?:^|[;}\n])\s*import\s*` + name +
		`|\b(?:require|import)\s*\(\s*` + name + `\s*[,)]`)
})

func readScript(s *source, data []byte) {
	s.main = strings.HasPrefix(string(data[:min(2, len(data))]), "#!")
	for _, match := range scriptImport().FindAllStringSubmatch(scriptSyntax.uncomment(data), -1) {
		for _, quoted := range match[1:] {
			s.add(strings.Trim(quoted, `"'`))
		}
	}
}
