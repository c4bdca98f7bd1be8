// Package textedit changes text without disturbing the rest: it finds and replaces text, finds near matches, and
// writes unified diffs. It works on bytes in memory and accesses no files.
//
// A file keeps its line endings, byte order mark, encoding and final newline. Bytes outside a replaced region stay
// exactly as they were; nothing is normalized, including Unicode forms.
package textedit
