// Package textedit changes text without disturbing what was not changed: it
// finds and replaces text, tells where text nearly matches, and writes
// unified diffs. Its functions work on bytes in memory and touch no file.
//
// A file keeps its line endings, byte order mark, encoding and final newline.
// Bytes outside of a replaced region come back exactly as they were; nothing
// is normalized, Unicode forms included.
package textedit
