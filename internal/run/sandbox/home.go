package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/realpath"
)

// homePlaces is all that a confined process sees of the user's home directory besides the workspace and
// agent.hcl's grants: toolchains and settings for building and testing a project. A path is relative to the
// home directory, or begins with an environment variable for another location. None may hold keys, tokens or
// histories; secretsInHome hides exceptions.
var homePlaces = [...]struct {
	program, reason string
	paths           []string
}{
	{"git", "name, address, aliases and ignore rules", []string{
		".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes", ".config/git/config", ".config/git/ignore",
		".config/git/attributes"}},
	{"go", "installed programs, modules and toolchains", []string{
		"go/bin", "go/pkg", "sdk", ".local/go", ".config/go/env", "$GOROOT", "$GOPATH/bin", "$GOPATH/pkg", "$GOMODCACHE"}},
	{"node", "versions of Node, global packages and browsers for tests", []string{
		".nvm", ".fnm", ".local/share/fnm", ".volta", ".nodenv", ".n", ".npm-global", ".npm-packages", ".bun", ".deno",
		".local/share/pnpm", ".config/yarn/global", ".yarn", ".cache/node/corepack", ".cache/ms-playwright",
		".cache/puppeteer", ".cache/Cypress", "$NVM_DIR", "$FNM_DIR", "$VOLTA_HOME", "$N_PREFIX", "$BUN_INSTALL",
		"$PNPM_HOME"}},
	{"python", "versions of Python, environments and installed packages", []string{
		".pyenv", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/pipx", ".local/share/virtualenvs",
		".virtualenvs", ".rye", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda/envs", ".conda/pkgs",
		".cache/pypoetry/virtualenvs", ".cache/pre-commit", "$PYENV_ROOT", "$VIRTUAL_ENV", "$CONDA_PREFIX"}},
	{"rust", "toolchains, installed programs and crates", []string{
		".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".rustup",
		"$CARGO_HOME/bin", "$CARGO_HOME/registry", "$CARGO_HOME/git", "$CARGO_HOME/config.toml", "$RUSTUP_HOME"}},
	{"java", "versions of Java, and what Maven and Gradle have downloaded", []string{
		".sdkman", ".jenv", ".jabba", ".jdks", ".m2/repository", ".m2/wrapper", ".m2/toolchains.xml", ".gradle/caches",
		".gradle/wrapper", ".gradle/jdks", ".gradle/native", "$JAVA_HOME", "$SDKMAN_DIR"}},
	{"ruby", "versions of Ruby and gems", []string{
		".rbenv", ".rvm", ".rubies", ".gem/ruby", ".local/share/gem", "$RBENV_ROOT", "$GEM_HOME"}},
	{"php", "installed packages", []string{".composer/vendor", ".config/composer/vendor"}},
	{"dotnet", "runtimes and packages", []string{".dotnet", ".nuget/packages", "$DOTNET_ROOT"}},
	{"other languages", "toolchains and packages", []string{
		".ghcup", ".cabal/bin", ".cabal/store", ".cabal/packages", ".stack", ".opam", ".elan", ".juliaup",
		".julia/packages", ".julia/artifacts", ".pub-cache", ".swiftly", ".luarocks", ".zvm"}},
	{"version managers", "what asdf, mise, Homebrew and Nix have installed", []string{
		".asdf", ".tool-versions", ".local/share/mise", ".config/mise/config.toml", ".linuxbrew", ".nix-profile",
		"$ASDF_DATA_DIR", "$MISE_DATA_DIR"}},
	{"programs of the user", "what PATH finds in the home directory", []string{".local/bin", "bin"}},
	{"terminal", "settings of terminals and lines", []string{".terminfo", ".inputrc", ".editorconfig"}},
}

// shownPlace is a place that stays visible in a hidden directory.
type shownPlace struct {
	path string // as programs name it
	real string // with symlinks resolved
}

// shownInHome returns what a confined process sees of home: the existing homePlaces, and the directories of
// PATH.
func shownInHome(home string, memo realpath.Memo) (shown []shownPlace) {
	if home == "" {
		return nil
	}
	present := make(map[string]bool)
	for _, name := range namesIn(home) {
		present[name] = true
	}
	var paths []string
	for _, place := range homePlaces {
		for _, path := range place.paths {
			if first, _, _ := strings.Cut(path, "/"); present[first] || first[0] == '$' {
				paths = append(paths, namedIn(home, path)...)
			}
		}
	}
	paths = append(paths, filepath.SplitList(os.Getenv("PATH"))...)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		path = filepath.Clean(path)
		real, err := memo.Of(path)
		switch {
		case err != nil || within(home, real): // missing, or all of home
		case within(path, home):
			shown = append(shown, shownPlace{path, real})
		case within(real, home):
			shown = append(shown, shownPlace{real, real})
		}
	}
	return shown
}

func namedIn(home, path string) (paths []string) {
	variable, found := strings.CutPrefix(path, "$")
	if !found {
		return []string{filepath.Join(home, path)}
	}
	name, rest, _ := strings.Cut(variable, "/")
	for _, dir := range filepath.SplitList(os.Getenv(name)) {
		if filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, rest))
		}
	}
	return paths
}

// hiddenHome returns home, "" if a granted tree contains it: then only known places of secrets are hidden.
func hiddenHome(home string, granted []string) string {
	if home == "" || home == "/" || withinAny(home, granted) {
		return ""
	}
	return home
}
