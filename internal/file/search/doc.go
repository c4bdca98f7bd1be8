// Package search finds text in the files of a workspace, and files by name.
//
// It reads the files itself, without a program; tests compare it with ripgrep.
//
//   - Patterns are Go's regular expressions (RE2 syntax). \w, \d, \s and \b are ASCII; \p{...} classes are Unicode. ^ and
//     $ match at the ends of a line, with LF or CRLF. A pattern matches within a line, so it cannot contain a line break.
//   - Files that .gitignore names are left out, and so are .git, hidden files (unless requested) and symlinks. Files
//     that git ignores for other reasons, such as a user's own ignore file, are searched.
//   - A file with a NUL byte anywhere is binary and never matches. UTF-16 with a byte order mark is searched as text.
//     Other files are bytes: invalid UTF-8 matches no class, and is shown as U+FFFD.
//   - Results are ordered by path, bytewise, then by line.
package search
