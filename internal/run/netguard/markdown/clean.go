package markdown

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// maxQuotes bounds nested lists and quotations. Each level is repeated on every line below, so a small document
// could become a huge text.
const maxQuotes = 20

type cleaner struct {
	drop map[string]bool
}

// newCleaner drops elements without text of the page: media, code, metadata, and form controls.
func newCleaner() *cleaner {
	return &cleaner{drop: set(
		"img", "picture", "source", "svg", "canvas", "map", "area",
		"video", "audio", "track", "object", "embed", "applet", "iframe", "frame", "frameset",
		"script", "style", "noscript", "template", "head", "link", "meta", "base",
		"input", "textarea", "select", "option", "optgroup", "datalist", "button", "label", "legend", "output",
		"progress", "meter", "dialog",
	)}
}

// clean removes the dropped elements below n, and changes those that the converter handles badly. quotes counts
// the lists and quotations around n.
func (c *cleaner) clean(n *html.Node, quotes int) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch child.Type {
		case html.CommentNode:
			n.RemoveChild(child)
		case html.TextNode:
			if !isCode(n) {
				child.Data = reference().ReplaceAllString(child.Data, "&amp;$1")
			}
		case html.ElementNode:
			if c.drop[child.Data] {
				n.RemoveChild(child)
			} else {
				c.element(child, quotes)
			}
		default:
		}
		child = next
	}
}

// reference is text that Markdown would read as a character reference.
var reference = regexlimit.Lazy(`&(#[0-9]+;|#[xX][0-9a-fA-F]+;|[a-zA-Z][a-zA-Z0-9]*;)`)

// isCode reports whether the converter keeps the text of an element verbatim.
func isCode(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		switch n.Data {
		case "code", "var", "samp", "kbd", "tt", "pre":
			return true
		}
	}
	return false
}

func (c *cleaner) element(n *html.Node, quotes int) {
	switch n.Data {
	case "blockquote", "ul", "ol", "dl":
		if quotes++; quotes > maxQuotes {
			rename(n, "div")
		}
	case "summary":
		rename(n, "p")
	case "table":
		if isData(n) {
			limitSpans(n)
			joinLines(n)
		} else {
			flatten(n)
		}
	}
	c.clean(n, quotes)
	if n.Data == "a" {
		tidyLink(n)
	}
}

func rename(n *html.Node, name string) { n.Data, n.DataAtom, n.Attr = name, 0, nil }

// tidyLink removes a link to nowhere, a script or embedded data, keeping its text, and a link without text.
func tidyLink(n *html.Node) {
	if isEmpty(n) {
		n.Parent.RemoveChild(n)
		return
	}
	href := strings.ToLower(strings.TrimSpace(attribute(n, "href")))
	scheme, _, _ := strings.Cut(href, ":")
	if href == "" || scheme == "javascript" || scheme == "data" || scheme == "vbscript" {
		rename(n, "span")
	}
}

func isEmpty(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.Type == html.TextNode && strings.TrimSpace(d.Data) != "" {
			return false
		}
	}
	return true
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
