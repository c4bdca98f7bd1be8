package markdown_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard/markdown"
)

func TestFromHTML(t *testing.T) {
	for _, c := range []struct{ name, html, want string }{
		{"empty", "", ""},
		{"blank", "  <p> </p>\n", ""},
		{"text", "hello", "hello\n"},
		{"headings", "<h1>One</h1><h3>Three</h3>", "# One\n\n### Three\n"},
		{"emphasis", "<p>a <b>b</b> <em>i</em> <del>d</del> <code>c</code></p>", "a **b** *i* ~~d~~ `c`\n"},
		{"paragraphs", "<p>a\n b<p>c<br>d", "a b\n\nc  \nd\n"},
		{"list", "<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  \n  1. b\n  2. c\n- d\n"},
		{"quotation", "<blockquote>a<p>b</blockquote>", "> a\n> \n> b\n"},
		{"code block", "<pre><code class=language-go>a := *b\n\tc</code></pre>", "```go\na := *b\n\tc\n```\n"},
		{"rule", "a<hr>b", "a\n\n* * *\n\nb\n"},
		{"entities", "<p>a &amp; b &copy; &#8364; &lt;tag&gt;", "a & b © € &lt;tag&gt;\n"},
		{"links", `<a href="/a b" title=t>x</a> <a href=https://example.com>y</a>`,
			"[x](/a%20b \"t\") [y](https://example.com)\n"},
		{"links that lead nowhere", `<a href="javascript:x()">a</a> <a href=" DATA:text/html,x">b</a> <a>c</a>`,
			"a b c\n"},
		{"links around pictures", `<p>a<a href=/x><img src=y alt=z></a>b`, "ab\n"},
		{"literal markdown", "<p># a *b* _c_ [d](e) `f`", "\\# a \\*b* \\_c_ \\[d](e) \\`f\\`\n"},
		{"media", `a<img src=x alt=y><picture><source><img></picture><video src=x>no video</video><audio>no audio</audio>` +
			`<svg><text>s</text></svg><canvas>c</canvas><object>o</object><iframe src=x>f</iframe>b`, "ab\n"},
		{"code and style", "<head><title>T</title><style>s{}</style></head>a<script>x()</script><style>s{}</" +
			"style><noscript>n</noscript><template>t</template><!-- c -->b", "ab\n"},
		{"form", "<form><p>Find a page</p><label>Name</label><input " +
			"value=v><textarea>t</textarea><select><option>o</select><button>Go</button></form>", "Find a page\n"},
		{"details", "<details><summary>More</summary>Text</details>", "More\n\nText\n"},
		{"figure", "<figure><img src=x><figcaption>Caption</figcaption></figure>", "Caption\n"},
		{"table", "<table><tr><th>A<th>B<tr><td>1<td>2|3<tr><td>only</table>",
			"| A | B |\n|---|---|\n| 1 | 2\\|3 |\n| only |  |\n"},
		{"table without head", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", "| a | b |\n|---|---|\n| c | d |\n"},
		{"table with spans", "<table><tr><th>A<th>B<tr><td colspan=2>x<tr><td>1<td>2</table>",
			"| A | B |\n|---|---|\n| x |  |\n| 1 | 2 |\n"},
		{"table with odd spans", "<table><tr><td colspan=-5>a<td colspan=x rowspan=0>b</table>",
			"| a | b |\n|---|---|\n"},
		{"table with paragraphs", "<table><tr><th>A<tr><td><p>x<p>y</p>z <div>w</div></table>",
			"| A |\n|---|\n| x  <br />y  <br />z  <br />w |\n"},
		{"table for layout", "<table><tr><td><h2>Title</h2><td><ul><li>a</ul><td>b</table>", "## Title\n\n- a\n\nb\n"},
		{"table in a table", "<table><tr><td>left<td><table><tr><td>a<td>b</table></table>",
			"left\n\n| a | b |\n|---|---|\n"},
		{"unicode", "<p>日本語 😀 é", "日本語 😀 é\n"},
		{"broken markup", "<p>a<b>b</p>c</i></div><table><td>d", "a**b**\n\n**c**\n\n**d**\n"},
		{"text that is a reference", "<p>&amp;lt;b&amp;gt; &amp;#60; &amp;amp; AT&amp;T; a &amp; b; <code>&amp;lt;</code>",
			"&amp;lt;b&amp;gt; &amp;#60; &amp;amp; AT&amp;T; a & b; `&lt;`\n"},
		{"no HTML", "just a < b and c > d", "just a &lt; b and c &gt; d\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := markdown.FromHTML(t.Context(), c.html)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// TestBombs has documents whose careless conversion would take gigabytes or hours.
func TestBombs(t *testing.T) {
	for name, document := range map[string]string{
		"huge span":         "<table><tr><td colspan=1000000000 rowspan=1000000000>x<td>y</table>",
		"many spans":        "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=1000>x", 3000),
		"wide and long":     "<table><tr>" + strings.Repeat("<td>x", 20_000) + strings.Repeat("<tr><td>x", 20_000),
		"nested quotations": strings.Repeat("<blockquote>", 400) + "<pre>" + strings.Repeat("a\n", 20_000),
		"nested lists":      strings.Repeat("<ul><li>", 240) + "<pre>" + strings.Repeat("a\n", 20_000),
		"open brackets":     strings.Repeat("*_[`", 50_000),
		"open links":        strings.Repeat("<a href=x>x", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got, err := markdown.FromHTML(t.Context(), document)
			require.NoError(t, err)
			assert.Less(t, len(got), 10<<20)
			assert.Less(t, time.Since(start), time.Minute)
		})
	}
}

func TestTooDeep(t *testing.T) {
	_, err := markdown.FromHTML(t.Context(), strings.Repeat("<div>", 100_000))
	assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := markdown.FromHTML(ctx, "x")
	assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
}

func FuzzFromHTML(f *testing.F) {
	f.Add("<table><tr><td rowspan=2>a<td>b<tr><td><a href=x><b>c</a></b></table><ul><li>x<pre>`</pre>")
	f.Add("<h1>a<table><th colspan=3>x</table><dl><dt>a<dd>b<blockquote><ol start=-1><li>")
	f.Fuzz(func(t *testing.T, document string) {
		text, err := markdown.FromHTML(t.Context(), document)
		if err == nil && utf8.ValidString(document) {
			assert.True(t, utf8.ValidString(text))
		}
	})
}
