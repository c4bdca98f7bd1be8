// Package search finds text in the files of a workspace, and files by name.
//
// There are two engines: ripgrep, run as a child process, and one in this
// package, which reads the files itself. Both give the same results:
//
//   - Patterns are Go's regular expressions (RE2 syntax). They are checked and
//     brought into a common form here; ripgrep gets that form. \w, \d, \s and
//     \b are about ASCII; \p{...} classes know Unicode. ^ and $ are the ends of
//     a line, with LF or CRLF. A pattern matches within a line, so it cannot
//     hold a line break.
//   - Files that .gitignore names are left out, and so are .git, hidden files
//     (unless asked for) and symlinks. Files that git ignores for other
//     reasons, such as a user's own ignore file, are searched.
//   - A file with a NUL byte anywhere is binary and never matches. UTF-16 with
//     a byte order mark is searched as the text it is. Other files are bytes:
//     what is not valid UTF-8 matches no class, and is shown as U+FFFD.
//   - Results are ordered by path, bytewise, then by line.
//
// What ripgrep cannot be told exactly, such as a glob with directories in it,
// is always done by the engine of this package.
package search
