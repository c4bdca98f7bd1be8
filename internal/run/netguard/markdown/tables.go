package markdown

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

const (
	// maxCells bounds the cells of a table in the output, where every row is as long as the longest.
	maxCells = 200_000
	// maxSpan bounds the cells that spanning cells of one table add.
	maxSpan = 20_000
	// maxBlocks bounds the paragraphs of a table that are examined.
	maxBlocks = 5000
)

// isData reports whether a table can be output as one: it is not for layout, its cells contain only what cells
// can, and it is not much larger than its content.
func isData(table *html.Node) bool {
	if attribute(table, "role") == "presentation" || insideInline(table) {
		return false
	}
	unfit := set("table", "hr", "ul", "ol", "dl", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
	for d := range table.Descendants() {
		if d.Type == html.ElementNode && unfit[d.Data] {
			return false
		}
	}
	rows, longest := size(table)
	return rows*longest <= maxCells
}

func insideInline(n *html.Node) bool {
	inline := set("a", "b", "strong", "i", "em", "del", "s", "strike")
	for p := n.Parent; p != nil; p = p.Parent {
		if inline[p.Data] {
			return true
		}
	}
	return false
}

// size returns the number of a table's rows, and of the cells in its longest row.
func size(table *html.Node) (rows, longest int) {
	for d := range table.Descendants() {
		if d.Data != "tr" || d.Type != html.ElementNode {
			continue
		}
		rows++
		cells := 0
		for range d.ChildNodes() {
			cells++
		}
		longest = max(longest, cells)
	}
	return rows, longest
}

// limitSpans removes row and column spans that are not numbers or add too many cells.
func limitSpans(table *html.Node) {
	added := 0
	for d := range table.Descendants() {
		if d.Data != "td" && d.Data != "th" {
			continue
		}
		columns, rows := span(d, "colspan"), span(d, "rowspan")
		added += columns*rows - 1
		if columns*rows == 1 || added > maxSpan {
			d.Attr = slices.DeleteFunc(d.Attr,
				func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
		}
	}
}

// span returns the number of rows or columns that a cell spans, by default 1.
func span(cell *html.Node, key string) int {
	const most = 1000 // of HTML, for columns
	n, err := strconv.Atoi(attribute(cell, key))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, most)
}

// joinLines replaces paragraphs in cells, which hold one line each, by line breaks.
func joinLines(table *html.Node) {
	blocks := set("p", "div", "section", "article", "address", "center", "figure")
	var nodes []*html.Node
	for d := range table.Descendants() {
		if d.Type == html.ElementNode && blocks[d.Data] {
			nodes = append(nodes, d)
		}
	}
	if len(nodes) > maxBlocks {
		return
	}
	for _, n := range nodes {
		rename(n, "span")
		if hasText(n.Parent.FirstChild, n) {
			n.Parent.InsertBefore(lineBreak(), n)
		}
		if next := n.NextSibling; next != nil && !blocks[next.Data] && hasText(next, nil) {
			n.Parent.InsertBefore(lineBreak(), next)
		}
	}
}

func lineBreak() *html.Node { return &html.Node{Type: html.ElementNode, Data: "br"} }

// hasText reports whether there is text from one sibling up to another; nil is the end.
func hasText(from, to *html.Node) bool {
	for n := from; n != to; n = n.NextSibling {
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" || n.Type == html.ElementNode && !isEmpty(n) {
			return true
		}
	}
	return false
}

// flatten turns the cells of a layout table into blocks.
func flatten(table *html.Node) {
	parts := set("caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th")
	var nodes []*html.Node
	collect(table, parts, &nodes)
	for _, n := range append(nodes, table) {
		rename(n, "div")
	}
}

func collect(n *html.Node, parts map[string]bool, into *[]*html.Node) {
	for child := range n.ChildNodes() {
		if child.Type != html.ElementNode || child.Data == "table" {
			continue
		}
		if parts[child.Data] {
			*into = append(*into, child)
		}
		collect(child, parts, into)
	}
}
